// What would make a job fit.
#ifndef EVENKEEL_PLANNER_SEARCH_REMEDIES_H_
#define EVENKEEL_PLANNER_SEARCH_REMEDIES_H_

#include <functional>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns each change that helps on its own, nearest first: the job with it was planned, and has a
// plan. Incomplete if stopped. REQUIRES that nothing fits, and that `misfit` says why.
std::vector<Remedy> FindRemedies(const Job& job, const Batching& batching, const Misfit& misfit,
                                 const std::function<bool()>& stop);

// Returns the job with the change made, as a caller makes it:
//   kMoreGpus         gpu_count, in as many GPUs to a node as the cluster has
//   kSmallerCaps      token_cap, and unit_cap unless 0
//   kSmallerMicroBatch  micro_batch_samples
//   kFusedStep, kSeparateStep  fused_step, to true or false
//   kSmallerBatch     global_batch_samples
//   kLowerPrecision   precision
//   kAllowRecompute   recompute free
//   kShardOptimizer, kShardWeights   ZeRO stage 1, 3
//   kFreeDegrees      degrees of tensor, pipeline and data free, the others without a least;
//                     neither stage_layers nor a partition method
//   kLargerGpu        the GPU type, with its own links inside a node
//   kContextParallel, kExpertParallel   these degrees free
//   kStageLayers      stage_layers, in place of those given or of a partition method
//   kFreeSchedule     schedule free
Job ApplyRemedy(const Job& job, const Remedy& remedy);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_REMEDIES_H_
