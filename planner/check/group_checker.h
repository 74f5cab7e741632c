// The part of the plan checker that checks packing groups.
#ifndef EVENKEEL_PLANNER_CHECK_GROUP_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_GROUP_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the faults of a plan with packing groups, in words; empty if it is sound. `batchings`
// holds, for each group, the batching that it was planned from.
std::vector<std::string> CheckGroupedPlan(const Job& job,
                                          const std::vector<const Batching*>& batchings,
                                          const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_GROUP_CHECKER_H_
