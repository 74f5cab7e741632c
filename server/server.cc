#include "server/server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "planner/catalog/catalog.h"
#include "server/calibration/calibrations.h"
#include "server/calibration/lmdb_profile_store.h"
#include "server/convert/version.h"
#include "server/listen.h"
#include "server/metrics/metrics.h"
#include "server/metrics/metrics_port.h"
#include "server/rpc/grpc_log.h"
#include "server/rpc/methods.h"
#include "server/rpc/planner_service.h"
#include "server/rpc/reflection.h"
#include "server/rpc/request_memo.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {
namespace {

constexpr char kHealthService[] = "grpc.health.v1.Health";
// For the last answers to leave through the sockets after their calls have ended.
constexpr std::chrono::milliseconds kFlushTime{200};
constexpr size_t kProfileCallsAtMost = 64;  // that wait for the disk

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

// Stalls are found soon after the timeout, without looking all the time.
std::chrono::milliseconds SweepInterval(const Options& options) {
  const int timeout = Milliseconds(options.pack_idle_timeout_seconds);
  return std::chrono::milliseconds(std::clamp(timeout / 8, 10, 1000));
}

BuildLabels MakeBuildLabels() {
  return {EVENKEEL_VERSION, PlannerVersion(), std::string(planner::kCatalogVersion)};
}

void SetLimits(const Options& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(options.max_request_bytes));
  // A compressed message is inflated before its size is checked: refuse it instead.
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              static_cast<int>(options.max_concurrent_streams));
  // Otherwise a second server on the same port starts without an error and takes half the calls.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                              Milliseconds(options.keepalive_time_seconds));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              Milliseconds(options.keepalive_timeout_seconds));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              Milliseconds(options.min_ping_interval_seconds));
  if (options.max_connection_age_seconds > 0) {
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                                Milliseconds(options.max_connection_age_seconds));
  }
  if (options.memory_quota_bytes > 0) {
    grpc::ResourceQuota quota("evenkeel");
    quota.Resize(static_cast<size_t>(options.memory_quota_bytes));
    builder->SetResourceQuota(quota);
  }
}

}  // namespace

// In order of construction: each may use those above it.
struct Server::Parts {
  Parts(const Options& options, ComputeFunction compute, PackFunction pack)
      : metrics(MakeBuildLabels(), AllMethodLabels()),
        world{metrics, clock},
        cache(static_cast<size_t>(options.cache_bytes), static_cast<uint32_t>(RandomBits())),
        memo(static_cast<size_t>(options.memo_bytes), RandomBits()),
        core({WorkerCount(options), static_cast<size_t>(options.queue_length),
              options.max_plan_seconds},
             std::move(compute), cache, metrics, clock),
        datasets(static_cast<size_t>(options.dataset_bytes)),
        quota(options.pack_max_streams, options.pack_memory_bytes),
        sweeper(SweepInterval(options)),
        packing(PackWorkerCount(options), static_cast<size_t>(options.pack_max_streams), metrics,
                clock),
        profile_writer(1, kProfileCallsAtMost, clock),
        service({world,
                 core,
                 cache,
                 memo,
                 {packing, quota, sweeper, datasets, std::move(pack), options.pack_max_samples,
                  options.pack_idle_timeout_seconds},
                 {calibrations, cache, profile_writer}}) {
    if (options.reflection) reflection = MakeReflectionServices({kServiceName, kHealthService});
    metrics.SetSources({[this] { return cache.counters(); }, [this] { return core.queue_depth(); },
                        [this] { return world.in_flight.load(); },
                        [this] {
                          return PackGauges{quota.streams(), quota.bytes(), datasets.counters()};
                        },
                        [this] {
                          const CalibrationStatePtr state = calibrations->state();
                          return ProfileGauges{state->newest(), state->active_profiles()};
                        },
                        [this](Lane lane) { return core.queue_depth(lane); }});
  }

  bool OpenProfiles(const Options& options, std::string* error);
  bool Listen(const Options& options, std::string* error);
  bool OpenMetricsPort(const Options& options, std::string* error);
  void SetServing(bool serving);

  Clock clock;
  Metrics metrics;
  RpcWorld world;
  PlanCache cache;
  RequestMemo memo;
  PlanningCore core;
  DatasetStore datasets;
  StreamQuota quota;
  Sweeper sweeper;
  PackingCore packing;
  std::unique_ptr<Calibrations> calibrations;  // from OpenProfiles on
  WorkerPool profile_writer;
  PlannerServiceImpl service;
  std::vector<std::unique_ptr<grpc::Service>> reflection;
  std::vector<int> ports;
  std::unique_ptr<grpc::Server> grpc_server;
  std::unique_ptr<MetricsPort> metrics_port;
};

bool Server::Parts::OpenProfiles(const Options& options, std::string* error) {
  std::unique_ptr<ProfileStore> store;
  if (options.profile_store == "off") {
    store = std::make_unique<MemoryProfileStore>();
  } else {
    store = LmdbProfileStore::Open(options.profile_store, error);
  }
  if (store != nullptr) calibrations = Calibrations::Open(std::move(store), clock, metrics, error);
  return calibrations != nullptr;
}

bool Server::Parts::Listen(const Options& options, std::string* error) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  SetLimits(options, &builder);
  ports.assign(options.listen.size(), -1);
  std::string all;
  for (size_t i = 0; i < options.listen.size(); ++i) {
    *error = ClearStaleSocket(options.listen[i]);
    if (!error->empty()) return false;
    builder.AddListeningPort(options.listen[i], grpc::InsecureServerCredentials(), &ports[i]);
    all += " " + options.listen[i];
  }
  builder.RegisterService(&service);
  for (const auto& one : reflection) builder.RegisterService(one.get());
  const mode_t before = umask(0117);  // unix sockets: 0660
  grpc_server = builder.BuildAndStart();
  umask(before);
  if (grpc_server != nullptr) return true;
  *error = "cannot listen on all of" + all;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i] <= 0) *error = "cannot listen on " + options.listen[i] + ": is it in use?";
  }
  return false;
}

bool Server::Parts::OpenMetricsPort(const Options& options, std::string* error) {
  if (options.metrics_address == "off") return true;
  metrics_port = MetricsPort::Open(
      options.metrics_address, [this] { return metrics.Scrape(); }, error);
  return metrics_port != nullptr;
}

void Server::Parts::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* health = grpc_server->GetHealthCheckService();
  health->SetServingStatus(serving);
  health->SetServingStatus(kServiceName, serving);
}

std::unique_ptr<Server> Server::Start(const Options& options, ComputeFunction compute,
                                      std::string* error, PackFunction pack) {
  CaptureGrpcLog();
  auto parts = std::make_unique<Parts>(options, std::move(compute), std::move(pack));
  if (!parts->OpenProfiles(options, error)) return nullptr;
  if (!parts->OpenMetricsPort(options, error) || !parts->Listen(options, error)) return nullptr;
  parts->SetServing(true);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Shutdown(); }

void Server::BeginDrain() {
  parts_->SetServing(false);
  parts_->core.RefuseNewWork();
  parts_->packing.RefuseNewWork();
}

int64_t Server::calls_in_flight() const { return parts_->world.in_flight; }

void Server::Shutdown() {
  if (parts_->grpc_server == nullptr) return;
  parts_->core.StopAll();
  parts_->packing.StopAll();
  parts_->profile_writer.Shutdown();  // what runs is finished: it may be on disk already
  // An open Health.Watch would hold it for ever without a deadline.
  parts_->grpc_server->Shutdown(std::chrono::system_clock::now() + kFlushTime);
  parts_->grpc_server->Wait();
  parts_->metrics_port.reset();
  parts_->grpc_server.reset();
}

const std::vector<int>& Server::ports() const { return parts_->ports; }

int Server::metrics_port() const {
  return parts_->metrics_port == nullptr ? 0 : parts_->metrics_port->port();
}

}  // namespace evenkeel::server
