// A step waits for the slowest of its GPUs: docs/COST_MODEL.md, section 2.5.
#ifndef EVENKEEL_PLANNER_COST_SLOWEST_GPU_H_
#define EVENKEEL_PLANNER_COST_SLOWEST_GPU_H_

#include "planner/job.h"

namespace evenkeel::planner {

// Returns the time of kernels on the slowest of the cluster's GPUs over that on the slowest of
// eight. At least 1.
double SlowestGpu(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_SLOWEST_GPU_H_
