// Time of an optimizer's update of the parameters that one rank updates.
#ifndef EVENKEEL_PLANNER_COST_OPTIMIZER_TIME_H_
#define EVENKEEL_PLANNER_COST_OPTIMIZER_TIME_H_

#include "planner/cost/kernel_time.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Host time of an update of one weight, inside the backward pass: measured as 123 us for a fused
// AdamW of PyTorch 2.15 on a sharded tensor, on one core of an EPYC.
inline constexpr double kFusedUpdateHostNs = 123e3;

// Returns the ns to update this many parameters. An optimizer of whole matrices takes them to have
// the shapes of the language model, and each tensor-parallel rank updates its own shard. With
// OptimizerOffload, the host updates its share after the GPU has updated the rest.
double OptimizerTime(const Job& job, const KernelTime& kernels, int64_t tensor, double parameters);

// Returns OptimizerTime as if the GPU updated all parameters.
double UpdateTime(const Job& job, const KernelTime& kernels, int64_t tensor, double parameters);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_OPTIMIZER_TIME_H_
