// The packs of each group of a set, tried on samples of its lengths.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUP_BATCHING_H_
#define EVENKEEL_PLANNER_GROUPS_GROUP_BATCHING_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/groups/group_sets.h"
#include "planner/packing/batch_rule.h"

namespace evenkeel::planner {

// One group: its packs full of own and shorter samples, and how many of them an epoch has.
struct GroupData {
  Batching batching;
  int64_t samples = 0;  // of its own lengths
  int64_t fillers = 0;  // shorter ones in its packs
  int64_t packs = 0;
  int64_t steps = 0;  // of which all but the first group's last are whole
};

// In the order of the set's groups. As PackByGroups does it: from the longest group down each takes
// shorter samples until its packs are full and its steps whole. A group of which nothing is left
// has no packs.
std::vector<GroupData> MakeGroupData(const Job& job, const LengthClasses& classes,
                                     const GroupSet& set, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUP_BATCHING_H_
