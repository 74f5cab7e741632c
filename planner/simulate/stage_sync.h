// What the data-parallel ranks of a stage exchange around its passes, and its optimizer:
// docs/COST_MODEL.md, section 3.
#ifndef EVENKEEL_PLANNER_SIMULATE_STAGE_SYNC_H_
#define EVENKEEL_PLANNER_SIMULATE_STAGE_SYNC_H_

#include <cstdint>

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Parameters that one rank of a stage trains.
struct TrainedParameters {
  int64_t all = 0;
  int64_t experts = 0;  // of all
  TrainedParameters& operator+=(const TrainedParameters& other) {
    all += other.all, experts += other.experts;
    return *this;
  }
};

// ns. ZeRO-3 exchanges weights and gradients around each layer: only its optimizer is left here.
struct StageSync {
  int64_t reduce_ns = 0;     // of gradients, over the ranks that hold the same parameters
  int64_t gather_ns = 0;     // of the updated 16-bit weights, where the optimizer is sharded
  int64_t optimizer_ns = 0;  // of the rank's share
  int64_t buckets = 1;       // that both move in, as evenly as the passes make or need them
  double slowdown = 0;       // of what moves beside passes, the share that those then take longer
};

// What passes lose to `hidden_ns` of communication beside them.
int64_t SlowedBy(double slowdown, int64_t hidden_ns);

StageSync SyncOf(const Job& job, const Parallelism& p, const TrainedParameters& trained);

// What of the reduction is left behind the last pass, which took `backward_ns`; never shorter by
// more than that pass gets longer. As PipelineSpec::sync_overlaps has it.
int64_t ExposedReduce(const Execution& execution, const StageSync& sync, int64_t backward_ns);

// What the gathering adds to the first forward pass of `forward_ns`, if that starts with it. As
// PipelineSpec::gather_overlaps has it.
int64_t ExposedGather(const Execution& execution, const StageSync& sync, int64_t forward_ns);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_STAGE_SYNC_H_
