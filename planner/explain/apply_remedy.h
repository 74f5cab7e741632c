// A job with one of its remedies.
#ifndef EVENKEEL_PLANNER_EXPLAIN_APPLY_REMEDY_H_
#define EVENKEEL_PLANNER_EXPLAIN_APPLY_REMEDY_H_

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the job with the change made, as a caller makes it:
//   kMoreGpus         gpu_count, in as many GPUs to a node as the cluster has
//   kSmallerCaps      token_cap, and unit_cap unless 0
//   kSmallerMicroBatch  micro_batch_samples
//   kFusedStep, kSeparateStep  fused_step, to true or false
//   kSmallerBatch     global_batch_samples
//   kGradients16Bit   gradients accumulated in 16 bits
//   kLowerPrecision   precision
//   kAllowRecompute   recompute free
//   kShardOptimizer, kShardWeights   ZeRO stage 1, 3
//   kFreeDegrees      degrees of tensor, pipeline and data free, the others without a least;
//                     neither stage_layers nor a partition method
//   kLargerGpu        the GPU type, with its own links inside a node
//   kContextParallel, kExpertParallel   these degrees free
//   kMoreHostMemory   host_memory_bytes
//   kStageLayers      stage_layers, in place of those given or of a partition method
//   kFreeSchedule     schedule free
//   kOffloadOptimizer, kOffloadActivations, kOffloadModules   chosen by the planner
//   kOffloadWeights   weights and gradients, with all states of the optimizer
Job ApplyRemedy(const Job& job, const Remedy& remedy);

// Returns whether the remedy changes packs, micro-batches or GPUs: more than a setting.
bool ChangesPacksOrGpus(const Remedy& remedy);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_APPLY_REMEDY_H_
