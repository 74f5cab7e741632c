// Every metric of the server. Names, labels and buckets are in metrics.cc only, except for
// process_* (process_collector.cc). Thread-safe. No label value comes from a request.
#ifndef EVENKEEL_SERVER_METRICS_METRICS_H_
#define EVENKEEL_SERVER_METRICS_METRICS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan_hooks.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/histogram.h"
#include "prometheus/metric_family.h"
#include "prometheus/registry.h"
#include "server/auth/policy.h"
#include "server/calibration/calibration_observer.h"
#include "server/core/dataset_store.h"
#include "server/core/plan_cache.h"
#include "server/core/plan_observer.h"
#include "server/metrics/listener_gauges.h"
#include "server/metrics/metrics_snapshot.h"
#include "server/redis/redis_tier.h"
#include "server/tracing/tracer.h"

namespace evenkeel::server {

// A method of the service, as in the labels.
struct MethodLabels {
  std::string type;  // "unary", "client_stream", "server_stream" or "bidi_stream"
  std::string service;
  std::string method;
};

// PackDataset calls, and the datasets that they kept.
struct PackGauges {
  int64_t streams = 0;
  int64_t reserved_bytes = 0;
  StoreCounters datasets;
};

// The history of profiles.
struct ProfileGauges {
  int64_t newest_revision = 0;
  int64_t active = 0;
  double unconfirmed_seconds = 0;  // 0 if confirmed
};

// A tier of the plan cache below memory.
struct TierGauges {
  const char* tier;  // "store" or "shared"
  int64_t hits = 0, misses = 0, errors = 0, evictions = 0, bytes = 0, entries = 0;
  bool ok = true;
  bool knows_size = true;  // bytes, entries and evictions are known
  int64_t set_aside = 0;   // damaged files of the store
};

// Threads that compute plans, and their queue.
struct WorkerGauges {
  size_t threads = 0;
  size_t busy = 0;
  size_t queue_limit = 0;
};

// State that is read at each scrape. All functions must stay callable until the sources are
// replaced.
struct MetricSources {
  std::function<CacheCounters()> cache;
  std::function<std::vector<TierGauges>()> tiers;  // tiers below memory
  std::function<size_t()> queue_depth;
  std::function<int64_t()> inflight;
  std::function<PackGauges()> packing;
  std::function<ProfileGauges()> profiles;
  std::function<WorkerGauges()> workers;
  std::function<uint64_t()> log_lines_dropped;
  std::function<ListenerGauges()> listener;
  std::function<RedisTierCounters()> redis;  // empty if there is no Redis
  std::function<TraceCounters()> traces;     // empty if no spans are exported
  std::function<size_t(Lane)> lane_depth;
};

struct BuildLabels {
  std::string version;
  std::string planner;
  std::string catalog;
};

class Metrics : public PlanObserver, public CalibrationObserver {
 public:
  static constexpr int kCodes = 17;  // gRPC status codes: 0 to 16
  static constexpr int kAnswerSources = 5;

  // The index into `methods` is the number that OnStarted and OnHandled take.
  Metrics(const BuildLabels& build, const std::vector<MethodLabels>& methods);
  ~Metrics() override;

  // Sets the sources. Must not be called during a scrape.
  void SetSources(MetricSources sources);

  // Counts a call that arrived. For a unary call, this counts its message too.
  void OnStarted(size_t method);
  // Counts a message of a stream.
  void OnReceived(size_t method);
  void OnSent(size_t method);
  // Counts a call that ended with status `code`, 0 for OK. The answer of a unary call is counted
  // here, and only for OK.
  void OnHandled(size_t method, int code, double seconds);

  // Counts a PlanJob or GetPlan call by the source of its answer: "memory", "store", "shared" or
  // "planner". "none" means that it ended by deadline or cancellation before there was an answer.
  void OnPlanAnswered(std::string_view served_from, double seconds);

  // Counts a call with a traceparent that cannot be continued.
  void OnBadTraceContext() { bad_trace_contexts_->Increment(); }
  // Counts a call that the policy refused. `access` is not kAllowed.
  void OnDenied(Access access);
  // Counts a policy file that was not accepted. The former policy stays.
  void OnPolicyReloadFailure();

  void OnQueueWait(Lane lane, double seconds) override;
  void OnPhase(planner::Phase phase, double seconds) override;
  void OnComputed(PlanEnding ending) override;
  void OnShed(ShedReason reason) override;
  void OnJoined() override;
  void OnPacked(PackEnding ending, int64_t samples, double seconds) override;
  void OnProfile(ProfileEnding ending) override;
  void OnAccepted(MeasuredList list, int64_t count) override;
  void OnRefused(RefusedFor reason) override;
  void OnPredictionError(MeasuredList list, double before, double after) override;
  void OnDrift(const Drift& drift) override;
  void OnStoreError() override;
  void OnFollow(FollowEnding ending) override;
  void OnConflict() override;

  // Returns the number of calls that ended so far, over all methods.
  uint64_t calls_handled() const { return calls_handled_.load(std::memory_order_relaxed); }

  // Returns all metrics in Prometheus' text format.
  std::string Scrape() const;

  // Returns all metrics as plain values.
  MetricsSnapshot Snapshot() const;

 private:
  struct MethodMetrics;
  class StateCollector;

  std::vector<prometheus::MetricFamily> Collect() const;
  prometheus::Counter* HandledCounter(MethodMetrics& metrics, int code);
  void AddMethods(const std::vector<MethodLabels>& methods);
  void AddPlanning();
  void AddPacking();
  void AddProfiles();
  void AddPolicy();

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>* handled_family_;
  std::vector<std::unique_ptr<MethodMetrics>> methods_;
  std::array<prometheus::Histogram*, kAnswerSources> answers_;
  prometheus::Counter* bad_trace_contexts_;
  std::atomic<uint64_t> calls_handled_ = 0;
  std::array<prometheus::Histogram*, kLanes> queue_wait_;
  std::array<prometheus::Histogram*, planner::kPhases> phases_;
  std::array<prometheus::Counter*, kPlanEndings> endings_;
  std::array<prometheus::Counter*, kShedReasons> sheds_;
  prometheus::Counter* joined_;
  std::array<prometheus::Counter*, 3> packings_;
  prometheus::Counter* packed_samples_;
  prometheus::Histogram* pack_seconds_;
  std::array<prometheus::Counter*, kProfileEndings> profiles_;
  std::array<prometheus::Counter*, kMeasuredLists> measurements_accepted_;
  std::array<prometheus::Counter*, kRefusedFor> measurements_refused_;
  std::array<std::array<prometheus::Histogram*, 2>, kListsWithErrors> prediction_errors_;
  prometheus::Histogram* drift_ratio_;
  std::array<prometheus::Counter*, kDriftSides> step_drifts_, memory_drifts_;
  prometheus::Counter* slow_rank_reports_;
  prometheus::Counter* store_errors_;
  std::array<prometheus::Counter*, 2> denied_;
  prometheus::Counter* policy_reload_failures_;
  std::array<prometheus::Counter*, kFollowEndings> follows_;
  prometheus::Counter* conflicts_;
  std::unique_ptr<StateCollector> state_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_METRICS_METRICS_H_
