// Checks the padded micro-batches of a plan, from the histogram, by formulas of its own.
#ifndef EVENKEEL_PLANNER_CHECK_PADDING_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_PADDING_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the faults, in words. Empty if the job packs and the plan has no figures of padding.
std::vector<std::string> CheckPadding(const Job& job, const Batching& batching, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_PADDING_CHECKER_H_
