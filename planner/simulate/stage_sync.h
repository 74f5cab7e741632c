// The exchange between the data-parallel ranks of a stage around its passes, and its optimizer:
// docs/COST_MODEL.md, section 3.
#ifndef EVENKEEL_PLANNER_SIMULATE_STAGE_SYNC_H_
#define EVENKEEL_PLANNER_SIMULATE_STAGE_SYNC_H_

#include <compare>
#include <cstdint>

#include "planner/cost/layer_cost.h"
#include "planner/cost/network.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Parameters that one rank of a stage trains.
struct TrainedParameters {
  int64_t all = 0;
  int64_t experts = 0;   // part of `all`
  int64_t encoders = 0;  // part of `all`: of encoders and projectors
  TrainedParameters& operator+=(const TrainedParameters& other) {
    all += other.all, experts += other.experts, encoders += other.encoders;
    return *this;
  }
  friend TrainedParameters operator-(const TrainedParameters& a, const TrainedParameters& b) {
    return {a.all - b.all, a.experts - b.experts, a.encoders - b.encoders};
  }
  friend auto operator<=>(const TrainedParameters&, const TrainedParameters&) = default;
};

inline TrainedParameters operator*(int64_t count, const TrainedParameters& one) {
  return {count * one.all, count * one.experts, count * one.encoders};
}

inline TrainedParameters TrainedBy(const LayerCost& layer) {
  return {layer.trained_parameters, layer.trained_expert_parameters,
          IsTowerLayer(layer.kind) ? layer.trained_parameters : 0};
}

// Times in ns. ZeRO-3 exchanges weights and gradients around each layer, so only its optimizer
// remains here, and not even that with Training::fused_step.
struct StageSync {
  int64_t reduce_ns = 0;     // gradients, over the ranks that hold the same parameters
  int64_t gather_ns = 0;     // updated 16-bit weights, if the optimizer is sharded
  int64_t optimizer_ns = 0;  // for the rank's share
  // Number of buckets of equal time in which both move. It is not rounded, so that the time after
  // the last pass does not jump when parameters fill another bucket.
  double buckets = 1;
  // Share of the overlapped communication time by which the passes take longer.
  double slowdown = 0;
};

// Returns the part of a time that one of `buckets` buckets takes, rounded up.
int64_t FirstBucket(int64_t ns, double buckets);

// Returns the time in ns that passes lose to `hidden_ns` of overlapped communication.
int64_t SlowedBy(double slowdown, int64_t hidden_ns);

StageSync SyncOf(const Job& job, const Parallelism& p, const TrainedParameters& trained);
// SyncOf for callers that have the job's network.
StageSync SyncOf(const Job& job, const Network& network, const Parallelism& p,
                 const TrainedParameters& trained);

// Returns the part of the reduction, in ns, that remains after the last pass, which took
// `backward_ns`. If that pass gets longer, the result shrinks by no more than that. It follows
// PipelineSpec::sync_overlaps.
int64_t ExposedReduce(const Execution& execution, const StageSync& sync, int64_t backward_ns);

// Returns the time in ns that gathering adds to the first forward pass, which takes `forward_ns`
// and starts at the same time. It follows PipelineSpec::gather_overlaps.
int64_t ExposedGather(const Execution& execution, const StageSync& sync, int64_t forward_ns);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_STAGE_SYNC_H_
