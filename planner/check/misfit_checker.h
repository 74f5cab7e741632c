// The part of the plan checker that checks an answer without a plan: why nothing fits.
#ifndef EVENKEEL_PLANNER_CHECK_MISFIT_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_MISFIT_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the faults of the misfit, in words. REQUIRES: plan.misfit.
std::vector<std::string> CheckMisfit(const Job& job, const Batching& batching, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_MISFIT_CHECKER_H_
