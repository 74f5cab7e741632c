// Which lengths become packing groups.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUP_SETS_H_
#define EVENKEEL_PLANNER_GROUPS_GROUP_SETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/groups/group_steps.h"

namespace evenkeel::planner {

// One group of a set: the class of samples (from, to) and how its steps run.
struct ChosenGroup {
  size_t from = 0, to = 0;  // as LengthClasses has them
  GroupStep step;
  size_t timed_from = 0;  // with `to` the class whose mean packs `step` is of
  double tokens = 0;      // of an epoch, as mean packs have them: its own and its fillers'
};

// Groups ascending in length, the last up to the longest sample. Empty: none fits.
struct GroupSet {
  std::vector<ChosenGroup> groups;
  double epoch_ns = 0;   // of mean packs
  int64_t examined = 0;  // sets weighed to find it
};

// Where a group ends: index of its length, and GPUs per pack; 0: the quickest.
struct GroupEnd {
  size_t to = 0;
  int64_t context = 0;
};

// The groups that end there (ascending, the last one at the longest); classes without samples have
// no group. A degree that does not fit gives way to the quickest. Empty: none fits some group.
GroupSet SetOf(GroupSteps& steps, const LengthClasses& classes, const std::vector<GroupEnd>& ends);

// The least epoch of all subsets of the lengths.
GroupSet ExactGroups(GroupSteps& steps, const LengthClasses& classes);

// HBP's algorithm 1 (arXiv 2503.07680). l_best is the length that is fastest per token where packs
// of it hold the samples up to it, l_max the longest. l1 = l_best / sp_best and l2 = l_max / sp_max
// need no communication; l2 below l_best is merged into l_best. `alone` times one pack per rank;
// the set is then timed by `steps`.
GroupSet PublishedGroups(GroupSteps& alone, GroupSteps& steps, const LengthClasses& classes);

// No set of groups, partition and recompute of the family has a shorter epoch of mean packs, ns.
double EpochBound(GroupSteps& steps, const LengthClasses& classes);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUP_SETS_H_
