// Other ways to batch samples of unlike lengths, on the split of a grouped plan: what each would
// cost, by the same cost model. docs/ALGORITHMS.md says what each does.
#ifndef EVENKEEL_PLANNER_GROUPS_BATCHING_BASELINES_H_
#define EVENKEEL_PLANNER_GROUPS_BATCHING_BASELINES_H_

#include <vector>

#include "planner/base/stop.h"
#include "planner/groups/grouped_search.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Worst first: packing to the longest in random order, samples sorted by length, FlexSP's
// assignment (without pipeline alone), the plan's groups in random order, and the plan itself,
// which comes last whatever it costs. What does not fit is listed as such. `found` must have runs.
std::vector<BatchingBaseline> BatchingBaselines(const Job& job, const LengthClasses& classes,
                                                const GroupedSearch& found, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_BATCHING_BASELINES_H_
