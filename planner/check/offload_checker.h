// Checks a plan's offload to host memory.
#ifndef EVENKEEL_PLANNER_CHECK_OFFLOAD_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_OFFLOAD_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Checks the optimizer's states against those that the GPUs keep, activations against the same plan
// without their offload, and the host against its room. Returns the faults. REQUIRES: plan.fits().
std::vector<std::string> CheckOffload(const Job& job, const Batching& batching, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_OFFLOAD_CHECKER_H_
