#include "server/metrics/metrics.h"

#include <iterator>
#include <sstream>
#include <utility>

#include "prometheus/gauge.h"
#include "prometheus/text_serializer.h"
#include "server/metrics/families.h"
#include "server/metrics/listener_families.h"
#include "server/metrics/process_collector.h"
#include "server/metrics/redis_families.h"
#include "server/metrics/take_snapshot.h"
#include "server/metrics/trace_families.h"

namespace evenkeel::server {
namespace {

using prometheus::Counter;
using prometheus::Histogram;
using prometheus::MetricType;

// There are many of these histograms, and each process should have few series. So there is one
// bucket for each power of ten, from a hit (tens of microseconds) to the longest plan, and one for
// each objective.
const Histogram::BucketBoundaries kSecondsBuckets = {0.0001, 0.001, 0.01, 0.1, 0.5, 2.5, 10};
// These are finer, because callers wait for plans. The objectives are at 0.01 and 2.5.
const Histogram::BucketBoundaries kAnswerBuckets = {0.0001, 0.00025, 0.001, 0.0025, 0.01,
                                                    0.1,    0.5,     1,     2.5,    10};

// Names as grpc-go prints them, because dashboards of the gRPC community select by these.
constexpr const char* kCodeNames[Metrics::kCodes] = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

constexpr const char* kEndingNames[kPlanEndings] = {"fits", "misfit", "stopped", "defect",
                                                    "time_limit"};
constexpr const char* kShedNames[kShedReasons] = {
    "queue_full", "shutting_down",      "pack_streams", "pack_memory",
    "displaced",  "deadline_too_short", "expired"};
constexpr const char* kLaneNames[kLanes] = {"short", "heavy"};
constexpr const char* kAnswerSourceNames[Metrics::kAnswerSources] = {"memory", "store", "shared",
                                                                     "planner", "none"};
// Codes that exist from the start, because an error that appears with its first count gives no
// rate.
constexpr int kCodesFromStart[] = {0, 13, 14};
constexpr const char* kPackEndingNames[] = {"packed", "stopped", "defect"};
// Range from a few thousand samples to the largest uploads.
const Histogram::BucketBoundaries kPackSecondsBuckets = {0.001, 0.005, 0.025, 0.1, 0.5,
                                                         1,     5,     25,    100};

constexpr const char* kProfileEndingNames[kProfileEndings] = {"recorded", "known", "refused",
                                                              "dry_run", "store_error"};
constexpr const char* kMeasuredNames[kMeasuredLists] = {"layer_time", "memory", "step",
                                                        "collective"};
constexpr const char* kRefusedNames[kRefusedFor] = {
    "impossible", "out_of_bounds", "outlier", "single_setting", "plan_unknown", "plan_differs"};
constexpr const char* kDeniedNames[] = {"unauthenticated", "method_not_allowed"};
constexpr const char* kFollowNames[kFollowEndings] = {"confirmed", "unreachable", "damaged"};
constexpr const char* kWhenNames[] = {"before", "after"};
// Range from predictions as good as measured to refused ones.
const Histogram::BucketBoundaries kErrorBuckets = {0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 2};

constexpr const char* kDriftNames[kDriftSides] = {"", "within", "above", "below"};
// Range from steps that are far quicker than planned to refused ones; finer around 1.
const Histogram::BucketBoundaries kDriftBuckets = {0.5, 0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 1.5, 2, 3};

prometheus::Family<Counter>& AddCounter(prometheus::Registry& registry, const char* name,
                                        const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<Histogram>& AddHistogram(prometheus::Registry& registry, const char* name,
                                            const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

void Append(std::vector<prometheus::MetricFamily> more,
            std::vector<prometheus::MetricFamily>* all) {
  all->insert(all->end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

// Appends one family for each figure, with one sample for each tier that has it.
void AppendTiers(const CacheCounters& memory, std::vector<TierGauges> tiers,
                 std::vector<prometheus::MetricFamily>* families) {
  tiers.insert(tiers.begin(),
               {"memory", static_cast<int64_t>(memory.hits), static_cast<int64_t>(memory.misses), 0,
                static_cast<int64_t>(memory.evictions), static_cast<int64_t>(memory.bytes),
                static_cast<int64_t>(memory.entries)});
  const auto add = [&](const char* name, const char* help, MetricType type, bool of_size,
                       auto value) {
    std::vector<prometheus::MetricFamily> family;
    for (const TierGauges& tier : tiers) {
      if (of_size && !tier.knows_size) continue;
      prometheus::MetricFamily one =
          SingleMetric(name, help, type, {{"tier", tier.tier}}, static_cast<double>(value(tier)));
      if (family.empty()) {
        family.push_back(std::move(one));
      } else {
        family[0].metric.push_back(std::move(one.metric[0]));
      }
    }
    Append(std::move(family), families);
  };
  add("evenkeel_cache_hits_total", "Look-ups of plans that this tier answered.",
      MetricType::Counter, false, [](const TierGauges& t) { return t.hits; });
  add("evenkeel_cache_misses_total", "Look-ups that it did not.", MetricType::Counter, false,
      [](const TierGauges& t) { return t.misses; });
  add("evenkeel_cache_errors_total",
      "Records that could not be read or written, or were of no use.", MetricType::Counter, false,
      [](const TierGauges& t) { return t.errors; });
  add("evenkeel_cache_tier_ok", "Whether the tier works.", MetricType::Gauge, false,
      [](const TierGauges& t) { return t.ok ? 1 : 0; });
  add("evenkeel_cache_evictions_total", "Plans that gave way to newer ones.", MetricType::Counter,
      true, [](const TierGauges& t) { return t.evictions; });
  add("evenkeel_cache_bytes", "What the stored plans take.", MetricType::Gauge, true,
      [](const TierGauges& t) { return t.bytes; });
  add("evenkeel_cache_entries", "Plans stored.", MetricType::Gauge, true,
      [](const TierGauges& t) { return t.entries; });
  add("evenkeel_cache_set_aside_total", "Damaged files that were set aside and begun anew.",
      MetricType::Counter, true, [](const TierGauges& t) { return t.set_aside; });
}

}  // namespace

// References to children, because each look-up by label costs half a microsecond.
struct Metrics::MethodMetrics {
  bool is_unary() const { return labels.type == "unary"; }

  MethodLabels labels;
  Counter* started;
  Counter* received;
  Counter* sent;
  Histogram* seconds;
  std::array<std::atomic<Counter*>, kCodes> handled{};  // created on first use
};

// Collects figures that other parts hold.
class Metrics::StateCollector : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
  MetricSources sources;
};

std::vector<prometheus::MetricFamily> Metrics::StateCollector::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  if (sources.cache) {
    AppendTiers(sources.cache(), sources.tiers ? sources.tiers() : std::vector<TierGauges>(),
                &families);
  }
  const auto add_gauge = [&families](const char* name, const char* help, auto value) {
    families.push_back(SingleMetric(name, help, MetricType::Gauge, {}, static_cast<double>(value)));
  };
  if (sources.queue_depth) {
    add_gauge("evenkeel_queue_depth", "Computations that wait for a worker.",
              sources.queue_depth());
  }
  if (sources.lane_depth) {
    prometheus::MetricFamily lanes;
    for (const Lane lane : {Lane::kShort, Lane::kHeavy}) {
      auto one = SingleMetric("evenkeel_lane_depth", "Computations in the queue, by lane.",
                              MetricType::Gauge, {{"lane", kLaneNames[static_cast<size_t>(lane)]}},
                              static_cast<double>(sources.lane_depth(lane)));
      if (lanes.metric.empty()) {
        lanes = std::move(one);
      } else {
        lanes.metric.push_back(std::move(one.metric.front()));
      }
    }
    families.push_back(std::move(lanes));
  }
  if (sources.inflight) {
    add_gauge("evenkeel_inflight", "Calls being handled.", sources.inflight());
  }
  if (sources.packing) {
    const PackGauges packing = sources.packing();
    add_gauge("evenkeel_pack_streams", "PackDataset calls that hold a place.", packing.streams);
    add_gauge("evenkeel_pack_reserved_bytes", "Memory set aside for them.", packing.reserved_bytes);
    add_gauge("evenkeel_dataset_bytes", "Memory that the kept datasets take.",
              packing.datasets.bytes);
    add_gauge("evenkeel_dataset_entries", "Datasets kept.", packing.datasets.entries);
    families.push_back(SingleMetric("evenkeel_dataset_evictions_total",
                                    "Datasets that gave way to newer ones.", MetricType::Counter,
                                    {}, static_cast<double>(packing.datasets.evictions)));
  }
  if (sources.profiles) {
    const ProfileGauges profiles = sources.profiles();
    add_gauge("evenkeel_profile_revision", "Newest revision of the history of profiles.",
              profiles.newest_revision);
    add_gauge("evenkeel_profiles_active", "Profiles in force.", profiles.active);
    add_gauge("evenkeel_profile_unconfirmed_seconds",
              "For how long the calibration may have been older than the shared store's.",
              profiles.unconfirmed_seconds);
  }
  if (sources.workers) {
    const WorkerGauges workers = sources.workers();
    add_gauge("evenkeel_workers", "Threads that compute plans.", workers.threads);
    add_gauge("evenkeel_workers_busy", "Those that compute now.", workers.busy);
    add_gauge("evenkeel_queue_limit", "Maximum computations that may wait.", workers.queue_limit);
  }
  if (sources.log_lines_dropped) {
    families.push_back(SingleMetric("evenkeel_log_lines_dropped_total",
                                    "Log lines that nobody took in time.", MetricType::Counter, {},
                                    static_cast<double>(sources.log_lines_dropped())));
  }
  if (sources.listener) Append(ListenerFamilies(sources.listener()), &families);
  if (sources.redis) Append(RedisFamilies(sources.redis()), &families);
  if (sources.traces) Append(TraceFamilies(sources.traces()), &families);
  return families;
}

Metrics::Metrics(const BuildLabels& build, const std::vector<MethodLabels>& methods)
    : state_(std::make_unique<StateCollector>()) {
  AddMethods(methods);
  AddPlanning();
  AddPacking();
  AddProfiles();
  AddPolicy();
  prometheus::BuildGauge()
      .Name("evenkeel_build_info")
      .Help("Always 1; the labels say what runs.")
      .Register(registry_)
      .Add({{"version", build.version}, {"planner", build.planner}, {"catalog", build.catalog}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::SetSources(MetricSources sources) { state_->sources = std::move(sources); }

void Metrics::AddMethods(const std::vector<MethodLabels>& methods) {
  auto& started = AddCounter(registry_, "grpc_server_started_total", "Calls that began.");
  handled_family_ = &AddCounter(registry_, "grpc_server_handled_total", "Calls that ended.");
  auto& received = AddCounter(registry_, "grpc_server_msg_received_total", "Messages received.");
  auto& sent = AddCounter(registry_, "grpc_server_msg_sent_total", "Messages sent.");
  auto& seconds = AddHistogram(registry_, "grpc_server_handling_seconds",
                               "Time from the arrival of a call to its end.");
  for (const MethodLabels& method : methods) {
    const prometheus::Labels labels = {{"grpc_type", method.type},
                                       {"grpc_service", method.service},
                                       {"grpc_method", method.method}};
    auto metrics = std::make_unique<MethodMetrics>();
    metrics->labels = method;
    metrics->started = &started.Add(labels);
    metrics->received = &received.Add(labels);
    metrics->sent = &sent.Add(labels);
    metrics->seconds = &seconds.Add(labels, kSecondsBuckets);
    for (const int code : kCodesFromStart) HandledCounter(*metrics, code);
    methods_.push_back(std::move(metrics));
  }
}

void Metrics::AddPlanning() {
  auto& answers = AddHistogram(registry_, "evenkeel_plan_answer_seconds",
                               "Time of PlanJob and GetPlan calls, by where their plan came from.");
  for (size_t i = 0; i < answers_.size(); ++i) {
    answers_[i] = &answers.Add({{"served_from", kAnswerSourceNames[i]}}, kAnswerBuckets);
  }
  bad_trace_contexts_ = &AddCounter(registry_, "evenkeel_bad_trace_contexts_total",
                                    "Calls whose traceparent could not be continued.")
                             .Add({});
  auto& waits = AddHistogram(registry_, "evenkeel_queue_wait_seconds",
                             "Time that computations waited for a worker.");
  for (size_t i = 0; i < kLanes; ++i)
    queue_wait_[i] = &waits.Add({{"lane", kLaneNames[i]}}, kSecondsBuckets);
  auto& phases = AddHistogram(registry_, "evenkeel_plan_seconds",
                              "Time that computations spent in each phase.");
  for (int i = 0; i < planner::kPhases; ++i) {
    phases_[i] = &phases.Add({{"phase", planner::PhaseName(static_cast<planner::Phase>(i))}},
                             kSecondsBuckets);
  }
  auto& plans = AddCounter(registry_, "evenkeel_plans_total", "Computations that ended.");
  for (size_t i = 0; i < endings_.size(); ++i) {
    endings_[i] = &plans.Add({{"outcome", kEndingNames[i]}});
  }
  auto& shed = AddCounter(registry_, "evenkeel_shed_total", "Computations that were refused.");
  for (size_t i = 0; i < sheds_.size(); ++i) sheds_[i] = &shed.Add({{"reason", kShedNames[i]}});
  joined_ = &AddCounter(registry_, "evenkeel_single_flight_joined_total",
                        "PlanJob calls that shared a computation under way.")
                 .Add({});
}

void Metrics::AddPacking() {
  auto& packings = AddCounter(registry_, "evenkeel_packings_total", "Packings that ended.");
  for (size_t i = 0; i < packings_.size(); ++i) {
    packings_[i] = &packings.Add({{"outcome", kPackEndingNames[i]}});
  }
  packed_samples_ = &AddCounter(registry_, "evenkeel_packed_samples_total",
                                "Samples of packings that ended well.")
                         .Add({});
  pack_seconds_ =
      &AddHistogram(registry_, "evenkeel_pack_seconds", "Time that packings took on their worker.")
           .Add({}, kPackSecondsBuckets);
}

void Metrics::AddProfiles() {
  auto& profiles = AddCounter(registry_, "evenkeel_profiles_total", "RecordProfile calls judged.");
  for (size_t i = 0; i < profiles_.size(); ++i) {
    profiles_[i] = &profiles.Add({{"outcome", kProfileEndingNames[i]}});
  }
  auto& accepted =
      AddCounter(registry_, "evenkeel_profile_accepted_total", "Measurements that were recorded.");
  auto& refused = AddCounter(registry_, "evenkeel_profile_refused_total",
                             "Measurements that were not believed.");
  auto& errors = AddHistogram(registry_, "evenkeel_prediction_error_ratio",
                              "Mean error of predictions, by profile, without it and with it.");
  for (size_t i = 0; i < measurements_accepted_.size(); ++i)
    measurements_accepted_[i] = &accepted.Add({{"measured", kMeasuredNames[i]}});
  for (size_t i = 0; i < prediction_errors_.size(); ++i) {
    for (size_t when = 0; when < prediction_errors_[i].size(); ++when) {
      prediction_errors_[i][when] =
          &errors.Add({{"measured", kMeasuredNames[i]}, {"when", kWhenNames[when]}}, kErrorBuckets);
    }
  }
  for (size_t i = 0; i < measurements_refused_.size(); ++i) {
    measurements_refused_[i] = &refused.Add({{"reason", kRefusedNames[i]}});
  }
  drift_ratio_ = &AddHistogram(registry_, "evenkeel_step_drift_ratio",
                               "Measured over planned step time, by step outcome.")
                      .Add({}, kDriftBuckets);
  auto& drifts = AddCounter(registry_, "evenkeel_drift_reports_total",
                            "Step outcomes relative to the 80% interval of their plan.");
  for (int i = 1; i < kDriftSides; ++i) {
    const auto add = [&](const char* measured) {
      return &drifts.Add({{"measured", measured}, {"verdict", kDriftNames[i]}});
    };
    step_drifts_[static_cast<size_t>(i)] = add("step");
    memory_drifts_[static_cast<size_t>(i)] = add("memory");
  }
  slow_rank_reports_ =
      &AddCounter(registry_, "evenkeel_slow_rank_reports_total",
                  "Step outcomes with ranks that are slower than the others of their stage.")
           .Add({});
  store_errors_ = &AddCounter(registry_, "evenkeel_profile_store_errors_total",
                              "Writes to the profile store that failed.")
                       .Add({});
  auto& follows = AddCounter(registry_, "evenkeel_profile_polls_total",
                             "Attempts to catch up with a shared profile store.");
  for (size_t i = 0; i < follows_.size(); ++i) {
    follows_[i] = &follows.Add({{"outcome", kFollowNames[i]}});
  }
  conflicts_ = &AddCounter(registry_, "evenkeel_profile_conflicts_total",
                           "Writes that were judged again, because another replica was quicker.")
                    .Add({});
}

void Metrics::AddPolicy() {
  auto& denied =
      AddCounter(registry_, "evenkeel_denied_total", "Calls that the policy did not allow.");
  for (size_t i = 0; i < denied_.size(); ++i)
    denied_[i] = &denied.Add({{"reason", kDeniedNames[i]}});
  policy_reload_failures_ = &AddCounter(registry_, "evenkeel_policy_reload_failures_total",
                                        "Times that the policy's file was not taken.")
                                 .Add({});
}

void Metrics::OnDenied(Access access) {
  denied_[access == Access::kUnauthenticated ? 0 : 1]->Increment();
}

void Metrics::OnPolicyReloadFailure() { policy_reload_failures_->Increment(); }

void Metrics::OnProfile(ProfileEnding ending) {
  profiles_[static_cast<size_t>(ending)]->Increment();
}

void Metrics::OnAccepted(MeasuredList list, int64_t count) {
  measurements_accepted_[static_cast<size_t>(list)]->Increment(static_cast<double>(count));
}

void Metrics::OnRefused(RefusedFor reason) {
  measurements_refused_[static_cast<size_t>(reason)]->Increment();
}

void Metrics::OnPredictionError(MeasuredList list, double before, double after) {
  const auto& errors = prediction_errors_[static_cast<size_t>(list)];
  errors[0]->Observe(before);
  errors[1]->Observe(after);
}

void Metrics::OnDrift(const Drift& drift) {
  drift_ratio_->Observe(drift.step_ratio);
  if (drift.step != DriftSide::kUnknown) step_drifts_[static_cast<size_t>(drift.step)]->Increment();
  if (drift.memory != DriftSide::kUnknown) {
    memory_drifts_[static_cast<size_t>(drift.memory)]->Increment();
  }
  if (drift.slow_ranks) slow_rank_reports_->Increment();
}

void Metrics::OnStoreError() { store_errors_->Increment(); }

void Metrics::OnFollow(FollowEnding ending) { follows_[static_cast<size_t>(ending)]->Increment(); }

void Metrics::OnConflict() { conflicts_->Increment(); }

void Metrics::OnStarted(size_t method) {
  methods_[method]->started->Increment();
  if (methods_[method]->is_unary()) methods_[method]->received->Increment();
}

void Metrics::OnReceived(size_t method) { methods_[method]->received->Increment(); }

void Metrics::OnSent(size_t method) { methods_[method]->sent->Increment(); }

prometheus::Counter* Metrics::HandledCounter(MethodMetrics& metrics, int code) {
  Counter* handled = metrics.handled[code].load(std::memory_order_acquire);
  if (handled == nullptr) {
    handled = &handled_family_->Add({{"grpc_type", metrics.labels.type},
                                     {"grpc_service", metrics.labels.service},
                                     {"grpc_method", metrics.labels.method},
                                     {"grpc_code", kCodeNames[code]}});
    metrics.handled[code].store(handled, std::memory_order_release);
  }
  return handled;
}

void Metrics::OnHandled(size_t method, int code, double seconds) {
  MethodMetrics& metrics = *methods_[method];
  const int known = code >= 0 && code < kCodes ? code : 2;
  HandledCounter(metrics, known)->Increment();
  calls_handled_.fetch_add(1, std::memory_order_relaxed);
  if (code == 0 && metrics.is_unary()) metrics.sent->Increment();
  metrics.seconds->Observe(seconds);
}

void Metrics::OnPlanAnswered(std::string_view served_from, double seconds) {
  for (size_t i = 0; i < answers_.size(); ++i) {
    if (served_from == kAnswerSourceNames[i]) return answers_[i]->Observe(seconds);
  }
}

void Metrics::OnQueueWait(Lane lane, double seconds) {
  queue_wait_[static_cast<size_t>(lane)]->Observe(seconds);
}

void Metrics::OnPhase(planner::Phase phase, double seconds) {
  phases_[static_cast<size_t>(phase)]->Observe(seconds);
}

void Metrics::OnComputed(PlanEnding ending) { endings_[static_cast<size_t>(ending)]->Increment(); }

void Metrics::OnShed(ShedReason reason) { sheds_[static_cast<size_t>(reason)]->Increment(); }

void Metrics::OnJoined() { joined_->Increment(); }

void Metrics::OnPacked(PackEnding ending, int64_t samples, double seconds) {
  packings_[static_cast<size_t>(ending)]->Increment();
  if (ending == PackEnding::kPacked) packed_samples_->Increment(static_cast<double>(samples));
  pack_seconds_->Observe(seconds);
}

std::vector<prometheus::MetricFamily> Metrics::Collect() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  Append(state_->Collect(), &families);
  Append(ProcessCollector().Collect(), &families);
  return families;
}

std::string Metrics::Scrape() const {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, Collect());
  return text.str();
}

MetricsSnapshot Metrics::Snapshot() const { return TakeSnapshot(Collect()); }

}  // namespace evenkeel::server
