// The independent check of every plan before it leaves: recomputes feasibility and time from the
// cost equations, layer by layer. Shares nothing with the searches (partition/, recompute/,
// simulate/, search/).
#ifndef EVENKEEL_PLANNER_CHECK_PLAN_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_PLAN_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Faults found, in words; empty: the plan is sound. `batching` is the one that the plan was made
// from.
std::vector<std::string> CheckPlan(const Job& job, const Batching& batching, const Plan& plan);

// Of those, the faults of its batch rule, degrees, stages and the parts of its step alone.
std::vector<std::string> CheckSteps(const Job& job, const Batching& batching, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_PLAN_CHECKER_H_
