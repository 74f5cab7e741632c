// The independent check of every plan before it leaves the planner. It recomputes feasibility and
// time from the cost equations, layer by layer. It shares no code with partition/, recompute/ or
// search/; of simulate/ it uses only the exchange of gradients and weights (stage_sync.h).
#ifndef EVENKEEL_PLANNER_CHECK_PLAN_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_PLAN_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the faults of the plan, in words; empty if it is sound. `batching` is the one that the
// plan was made from.
std::vector<std::string> CheckPlan(const Job& job, const Batching& batching, const Plan& plan);

// Returns only those faults that concern the batch rule, the degrees, the stages and the parts of
// the step.
std::vector<std::string> CheckSteps(const Job& job, const Batching& batching, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_PLAN_CHECKER_H_
