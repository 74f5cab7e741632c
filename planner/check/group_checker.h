// The part of the plan checker for packing groups.
#ifndef EVENKEEL_PLANNER_CHECK_GROUP_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_GROUP_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Faults of a plan with groups; empty: it is sound. `batchings`: what each group was planned from.
std::vector<std::string> CheckGroupedPlan(const Job& job,
                                          const std::vector<const Batching*>& batchings,
                                          const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_GROUP_CHECKER_H_
