// The packs of each group of a set, from samples of its lengths.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUP_BATCHING_H_
#define EVENKEEL_PLANNER_GROUPS_GROUP_BATCHING_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/groups/group_sets.h"
#include "planner/packing/batch_rule.h"

namespace evenkeel::planner {

// One group: its packs, filled with its own and shorter samples, and their number in an epoch.
struct GroupData {
  Batching batching;
  int64_t samples = 0;  // samples of its own lengths
  int64_t fillers = 0;  // shorter samples in its packs
  int64_t packs = 0;
  int64_t steps = 0;  // all whole, except the last step of the first group
};

// Returns the data of each group, in the order of the set. As in PackByGroups, each group from the
// longest down takes shorter samples until its packs are full and its steps whole. A group that has
// no samples left has no packs.
std::vector<GroupData> MakeGroupData(const Job& job, const LengthClasses& classes,
                                     const GroupSet& set, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUP_BATCHING_H_
