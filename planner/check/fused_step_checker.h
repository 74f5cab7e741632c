// Checks a plan whose layers are updated inside the backward pass.
#ifndef EVENKEEL_PLANNER_CHECK_FUSED_STEP_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_FUSED_STEP_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Checks memory and times against the same plan with its update after the backward pass. Returns
// the faults; none where the job has no fused step. REQUIRES: plan.fits(), without packing groups.
std::vector<std::string> CheckFusedStep(const Job& job, const Batching& batching, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_FUSED_STEP_CHECKER_H_
