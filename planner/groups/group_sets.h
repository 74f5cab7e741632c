// Chooses which lengths become packing groups.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUP_SETS_H_
#define EVENKEEL_PLANNER_GROUPS_GROUP_SETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/groups/group_steps.h"

namespace evenkeel::planner {

// One group of a set: the class of samples (from, to) and how its steps run.
struct ChosenGroup {
  size_t from = 0, to = 0;  // indices as in LengthClasses
  GroupStep step;
  size_t timed_from = 0;  // `step` is timed with the mean packs of class (timed_from, to)
  double tokens = 0;      // tokens of an epoch in mean packs, fillers included
};

// Groups ascending in length; the last reaches the longest sample. Empty if no set fits.
struct GroupSet {
  std::vector<ChosenGroup> groups;
  double epoch_ns = 0;   // with mean packs
  int64_t examined = 0;  // sets compared to find this one
};

// The end of a group: the index of its length, and its GPUs per pack (0 for the quickest degree).
struct GroupEnd {
  size_t to = 0;
  int64_t context = 0;
};

// Returns the set of groups with these ends, which ascend to the longest length. Classes without
// samples have no group. If a degree does not fit, the quickest one replaces it. Returns an empty
// set if no degree fits some group.
GroupSet SetOf(GroupSteps& steps, const LengthClasses& classes, const std::vector<GroupEnd>& ends);

// Returns the set with the least epoch time of all subsets of the lengths.
GroupSet ExactGroups(GroupSteps& steps, const LengthClasses& classes);

// Returns the set of HBP's algorithm 1 (arXiv 2503.07680). l_best is the length that is fastest per
// token if packs of that length hold all samples up to it; l_max is the longest length. l1 = l_best
// / sp_best and l2 = l_max / sp_max need no communication; an l2 below l_best is merged into
// l_best. `alone` times one pack per rank; `steps` then times the set.
GroupSet PublishedGroups(GroupSteps& alone, GroupSteps& steps, const LengthClasses& classes);

// Returns a lower bound, in ns, on the epoch time with mean packs of every set of groups, partition
// and recompute of the family.
double EpochBound(GroupSteps& steps, const LengthClasses& classes);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUP_SETS_H_
