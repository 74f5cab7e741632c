// The way from unbalanced training to the plan, one change at a time (OmniBal's table 7).
#ifndef EVENKEEL_PLANNER_EXPLAIN_LADDER_H_
#define EVENKEEL_PLANNER_EXPLAIN_LADDER_H_

#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// Returns the rungs, all with the plan's degrees; all but the last run 1F1B without virtual stages.
// "baseline": random micro-batches padded to the longest, stages equal by parameters, every layer
// recomputed. "+ data balance": packs by the rule. "+ model balance": our partition under full
// recompute. "+ memory balance": the plan. `dealt` are the plan's DealtPacks, GPU-days are of all
// epochs. A job that pads keeps its micro-batches and has no "+ data balance". Incomplete if
// stopped.
std::vector<LadderRung> MakeLadder(const Job& job, const Batching& batching, const Candidate& plan,
                                   const std::vector<PackShape>& dealt, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_LADDER_H_
