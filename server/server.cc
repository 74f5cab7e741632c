#include "server/server.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "planner/catalog/catalog.h"
#include "server/admin/admin_server.h"
#include "server/admin/status_sections.h"
#include "server/calibration/calibration_registry.h"
#include "server/convert/version.h"
#include "server/exit_unreachable.h"
#include "server/listener/listener.h"
#include "server/log.h"
#include "server/metrics/metrics.h"
#include "server/metrics/metrics_port.h"
#include "server/open_stores.h"
#include "server/planning/keep_dataset.h"
#include "server/policy_watch.h"
#include "server/rpc/grpc_log.h"
#include "server/rpc/methods.h"
#include "server/rpc/planner_service.h"
#include "server/rpc/reflection.h"
#include "server/rpc/request_memo.h"
#include "server/rpc/rpc_scope.h"
#include "server/tracing/otlp_sender.h"

namespace evenkeel::server {
namespace {

constexpr char kHealthService[] = "grpc.health.v1.Health";
// Time for the last answers to leave through the sockets after their calls have ended.
constexpr std::chrono::milliseconds kFlushTime{200};
constexpr size_t kRecentPlans = 50;         // number shown on the status page
constexpr size_t kProfileCallsAtMost = 64;  // calls that may wait for the disk

constexpr std::chrono::milliseconds kStorePollInterval{100};  // for a shared profile store
constexpr std::chrono::seconds kPolicyInterval{1};            // between checks of the policy's file

uint64_t RandomBits() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

size_t WorkerCount(const Options& options) {
  if (options.workers > 0) return static_cast<size_t>(options.workers);
  return std::max(1U, std::thread::hardware_concurrency());
}

int Milliseconds(double seconds) { return static_cast<int>(std::min(seconds, 2e6) * 1000); }

size_t PackWorkerCount(const Options& options) {
  if (options.pack_workers > 0) return static_cast<size_t>(options.pack_workers);
  return std::max<size_t>(1, WorkerCount(options) / 2);
}

// Returns an interval with which stalls are found soon after the timeout, without checking all the
// time.
std::chrono::milliseconds SweepInterval(const Options& options) {
  const int timeout = Milliseconds(options.pack_idle_timeout_seconds);
  return std::chrono::milliseconds(std::clamp(timeout / 8, 10, 1000));
}

ProofsOffered ProofsOf(const Options& options) {
  const bool has_unix = std::any_of(options.listen.begin(), options.listen.end(),
                                    [](const auto& a) { return a.starts_with("unix:"); });
  return {.client_certificates = options.tls_client_ca != "off", .unix_peers = has_unix};
}

CalibrationRegistry::OpenStore ProfileStores(const Options& options) {
  return [options](const std::string& tenant, std::string* error) {
    return OpenProfileStore(options, tenant, error);
  };
}

// Starts following if the store is shared, so that replicas catch up with each other.
void Follow(const std::string& tenant, Calibrations& calibrations) {
  calibrations.Follow(kStorePollInterval, [tenant](const std::string& fault) {
    const bool is_well = fault.empty();
    LogLine(is_well ? LogLevel::kInfo : LogLevel::kError, "profile store")
        .Add("tenant", tenant)
        .Add("fault", is_well ? "none: the calibration is confirmed again" : fault);
  });
}

BuildLabels MakeBuildLabels() {
  return {EVENKEEL_VERSION, PlannerVersion(), std::string(planner::kCatalogVersion)};
}

// Leaves *tracer alone if no spans are exported. Returns false, with the reason in *error, if the
// settings name files that cannot be used.
bool OpenTracer(const Options& options, std::unique_ptr<Tracer>* tracer, std::string* error) {
  if (options.traces.target.empty()) return true;
  Tracer::Send send = MakeOtlpSender(options.traces, EVENKEEL_VERSION, error);
  if (!send) return false;
  *tracer = std::make_unique<Tracer>(
      options.traces.tracer, std::move(send), [](const std::string& fault) {
        const bool is_well = fault.empty();
        LogLine(is_well ? LogLevel::kInfo : LogLevel::kWarning, "traces")
            .Add("fault", is_well ? "none: spans are taken again" : fault);
      });
  return true;
}

TierGauges ToGauges(const char* tier, const TierCounters& counters, bool knows_size) {
  return {tier,           counters.hits,    counters.misses, counters.errors, counters.evictions,
          counters.bytes, counters.entries, counters.ok,     knows_size,      counters.set_aside};
}

std::vector<TierGauges> Tiers(const PlanTiers* tiers) {
  std::vector<TierGauges> all;
  if (tiers == nullptr) return all;
  if (tiers->has_store()) all.push_back(ToGauges("store", tiers->store_counters(), true));
  if (tiers->has_shared()) all.push_back(ToGauges("shared", tiers->shared_counters(), false));
  return all;
}

// Returns the newest plans of every tenant, because every reader of the status page may see them
// all.
std::vector<RecentPlan> RecentPlans(const PlanCache& cache, double now) {
  std::vector<RecentPlan> recent;
  for (const StoredPlanPtr& plan : cache.Newest(kRecentPlans)) {
    const PlanFacts& facts = plan->facts;
    const std::chrono::duration<double> made = plan->create_time.time_since_epoch();
    recent.push_back({plan->tenant, plan->plan_id, facts.model, facts.gpu_type, facts.gpu_count,
                      facts.fits, facts.step_seconds, now - made.count()});
  }
  return recent;
}

}  // namespace

// Parts in order of construction. Each may use those above it.
struct Server::Parts {
  Parts(const Options& options, PlanStores stores, std::unique_ptr<Tracer> traces,
        ComputeFunction compute, PackFunction pack)
      : tracer(std::move(traces)),
        metrics(MakeBuildLabels(), AllMethodLabels()),
        in_flight(0),
        cache(static_cast<size_t>(options.cache_bytes), static_cast<uint32_t>(RandomBits())),
        tiers(std::move(stores.tiers)),
        memos(static_cast<size_t>(options.memo_bytes), RandomBits()),
        core({WorkerCount(options), static_cast<size_t>(options.queue_length),
              options.max_plan_seconds},
             cache, metrics, clock, tiers.get()),
        dataset_store(static_cast<size_t>(options.dataset_bytes)),
        datasets(dataset_store, std::move(stores.datasets), &IsKeptDataset),
        quota(options.pack_max_streams, options.pack_memory_bytes),
        sweeper(SweepInterval(options)),
        packing(PackWorkerCount(options), static_cast<size_t>(options.pack_max_streams), metrics,
                clock),
        calibrations(ProfileStores(options), clock, metrics, &Follow),
        profile_writer(1, kProfileCallsAtMost, clock),
        profile_reader(1, kProfileCallsAtMost, clock),
        service_parts{{metrics, clock, in_flight},
                      core,
                      std::move(compute),
                      cache,
                      tiers.get(),
                      memos,
                      {packing, quota, sweeper, datasets, std::move(pack), options.pack_max_samples,
                       options.pack_idle_timeout_seconds},
                      {calibrations, cache, tiers.get(), profile_writer, profile_reader}},
        reflection(options.reflection) {
    service_parts.world.tracer = tracer.get();
    metrics.SetSources(
        {[this] { return cache.counters(); }, [this] { return Tiers(tiers.get()); },
         [this] { return core.queue_depth(); }, [this] { return in_flight.load(); },
         [this] {
           return PackGauges{quota.streams(), quota.bytes(), dataset_store.counters()};
         },
         [this] {
           const CalibrationRegistry::Totals totals = calibrations.totals();
           return ProfileGauges{totals.revisions, totals.active_profiles,
                                totals.unconfirmed_seconds};
         },
         [this, limit = static_cast<size_t>(options.queue_length)] {
           return WorkerGauges{core.workers(), core.busy_workers(), limit};
         },
         &LogLinesDropped, [this] { return listener ? listener->gauges() : ListenerGauges{}; },
         stores.redis, Traces(), [this](Lane lane) { return core.queue_depth(lane); }});
  }

  std::function<TraceCounters()> Traces() const {
    if (tracer == nullptr) return {};
    return [this] { return tracer->counters(); };
  }
  bool OpenPolicy(const Options& options, std::string* error);
  GrpcServices MakeServices(const std::string& connection_principal);
  bool Listen(const Options& options, ListenerHooks hooks, std::string* error);
  bool OpenMetricsPort(const Options& options, std::string* error);
  bool OpenAdmin(const Options& options, std::string* error);
  StatusPage Status(const Options& options) const;

  Clock clock;
  const std::unique_ptr<Tracer> tracer;  // nullptr if no spans are exported
  Metrics metrics;
  std::atomic<int64_t> in_flight;
  PlanCache cache;
  std::unique_ptr<PlanTiers> tiers;  // nullptr if there are none
  RequestMemos memos;
  PlanningCore core;
  DatasetStore dataset_store;
  DatasetTiers datasets;
  StreamQuota quota;
  Sweeper sweeper;
  PackingCore packing;
  CalibrationRegistry calibrations;
  WorkerPool profile_writer;
  WorkerPool profile_reader;
  ServiceParts service_parts;
  const bool reflection;
  std::shared_ptr<PolicyWatch> policy;  // nullptr if there is none
  std::optional<Sweeper> policy_sweeper;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<MetricsPort> metrics_port;
  const std::chrono::steady_clock::time_point since = clock.Now();
  std::unique_ptr<AdminServer> admin;  // last, because it shows all parts above
};

bool Server::Parts::OpenPolicy(const Options& options, std::string* error) {
  if (options.auth_policy == "off") return true;
  policy = PolicyWatch::Open(options.auth_policy, ProofsOf(options), calibrations, metrics, error);
  if (policy == nullptr) return false;
  service_parts.world.policy = &policy->file();
  policy_sweeper.emplace(kPolicyInterval);
  policy_sweeper->Add(policy);
  return true;
}

// Makes the services of a host. Services are cheap, so every host has its own.
GrpcServices Server::Parts::MakeServices(const std::string& connection_principal) {
  GrpcServices services;
  services.push_back(std::make_unique<PlannerServiceImpl>(service_parts, connection_principal));
  if (!reflection) return services;
  for (auto& one : MakeReflectionServices({kServiceName, kHealthService})) {
    services.push_back(std::move(one));
  }
  return services;
}

bool Server::Parts::Listen(const Options& options, ListenerHooks hooks, std::string* error) {
  if (!hooks.on_dead) hooks.on_dead = &ExitUnreachable;
  if (policy != nullptr) {
    hooks.unix_principal = [this](uid_t uid, gid_t gid) {
      return policy->file().current()->PrincipalOfUnixPeer(uid, gid);
    };
  }
  hooks.calls_ended = [this] { return metrics.calls_handled(); };
  listener = Listener::Open(
      options, [this](const std::string& principal) { return MakeServices(principal); },
      std::move(hooks), error);
  return listener != nullptr;
}

bool Server::Parts::OpenMetricsPort(const Options& options, std::string* error) {
  if (options.metrics_address == "off") return true;
  metrics_port = MetricsPort::Open(
      options.metrics_address, [this] { return metrics.Scrape(); }, error);
  return metrics_port != nullptr;
}

bool Server::Parts::OpenAdmin(const Options& options, std::string* error) {
  if (options.admin_address == "off") return true;
  admin = AdminServer::Open(
      options.admin_address, [this, options] { return Status(options); }, error);
  return admin != nullptr;
}

StatusPage Server::Parts::Status(const Options& options) const {
  const std::chrono::duration<double> now = clock.WallNow().time_since_epoch();
  return MakeStatusPage({.metrics = metrics.Snapshot(),
                         .now = now.count(),
                         .uptime_seconds = SecondsBetween(since, clock.Now()),
                         .serving = listener->serving(),
                         .listen = absl::StrJoin(options.listen, ", "),
                         .log_level = LogLevelName(GetLogLevel()),
                         .changed_settings = options.changed,
                         .recent_plans = RecentPlans(cache, now.count()),
                         .more = {}});
}

std::unique_ptr<Server> Server::Start(const Options& options, ComputeFunction compute,
                                      std::string* error, PackFunction pack, ListenerHooks hooks) {
  CaptureGrpcLog();
  PlanStores stores;
  if (!OpenPlanStores(options, RandomBits(), &stores, error)) return nullptr;
  std::unique_ptr<Tracer> tracer;
  if (!OpenTracer(options, &tracer, error)) return nullptr;
  auto parts = std::make_unique<Parts>(options, std::move(stores), std::move(tracer),
                                       std::move(compute), std::move(pack));
  if (parts->calibrations.Open("", error) == nullptr) return nullptr;
  if (!parts->OpenPolicy(options, error)) return nullptr;
  if (!parts->Listen(options, std::move(hooks), error)) return nullptr;
  if (!parts->OpenMetricsPort(options, error) || !parts->OpenAdmin(options, error)) return nullptr;
  if (parts->tiers != nullptr) {
    parts->tiers->Warm(&parts->cache, static_cast<size_t>(options.cache_bytes));
  }
  parts->listener->SetServing(true);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Shutdown(); }

void Server::SetNotServing() { parts_->listener->SetServing(false); }

void Server::BeginDrain() {
  SetNotServing();
  parts_->listener->StopAccepting();
  parts_->core.RefuseNewWork();
  parts_->packing.RefuseNewWork();
}

int64_t Server::calls_in_flight() const { return parts_->in_flight; }

size_t Server::queue_depth() const { return parts_->core.queue_depth(); }

void Server::Shutdown() {
  if (parts_->listener == nullptr) return;
  parts_->core.StopAll();
  parts_->packing.StopAll();
  parts_->profile_writer.Shutdown();  // finishes running calls, because they may be on disk already
  parts_->profile_reader.Shutdown();
  parts_->calibrations.StopFollowing();
  // Without a deadline, an open Health.Watch would hold it for ever.
  parts_->listener->Shutdown(std::chrono::system_clock::now() + kFlushTime);
  parts_->admin.reset();  // it asks the listener
  parts_->metrics_port.reset();
  parts_->listener.reset();
}

const std::vector<int>& Server::ports() const { return parts_->listener->ports(); }

int Server::metrics_port() const {
  return parts_->metrics_port == nullptr ? 0 : parts_->metrics_port->port();
}

}  // namespace evenkeel::server
