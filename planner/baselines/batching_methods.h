// The cost of other ways to batch samples of different lengths, on the split of a grouped plan and
// by the same cost model. docs/ALGORITHMS.md describes each.
#ifndef EVENKEEL_PLANNER_BASELINES_BATCHING_METHODS_H_
#define EVENKEEL_PLANNER_BASELINES_BATCHING_METHODS_H_

#include <vector>

#include "planner/base/stop.h"
#include "planner/groups/grouped_search.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the methods, worst first: packing to the longest sample in random order, samples sorted
// by length, FlexSP's assignment (only without a pipeline), the plan's groups in random order, and
// the plan itself. The plan is last even if another method costs less. A method that does not fit
// is listed with `fits` false. REQUIRES: `found` has runs.
std::vector<BatchingBaseline> BatchingBaselines(const Job& job, const LengthClasses& classes,
                                                const GroupedSearchResult& found, const Stop& stop);

// Returns HBP's ablation (table 6) of these methods: one group, groups, groups with balanced steps.
std::vector<LadderRung> GroupLadder(const std::vector<BatchingBaseline>& baselines);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASELINES_BATCHING_METHODS_H_
