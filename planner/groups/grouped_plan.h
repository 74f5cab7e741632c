// Writes the result of a grouped search as a plan.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUPED_PLAN_H_
#define EVENKEEL_PLANNER_GROUPS_GROUPED_PLAN_H_

#include "planner/base/stop.h"
#include "planner/groups/grouped_search.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Fills in the groups, how they were chosen, batch rule, degrees, stages, prediction and proof.
// Leaves baselines, ladder, placement, goodput, alternatives and figures unset. REQUIRES: `found`
// has runs.
void FillGroupedPlan(const Job& job, const LengthClasses& classes, const GroupedSearchResult& found,
                     const Stop& stop, Plan* plan);

// Returns a summary of the plan: degrees and stages of its longest group, mean step, GPU-days.
Alternative SummaryOf(const Job& job, const GroupedSearchResult& found);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUPED_PLAN_H_
