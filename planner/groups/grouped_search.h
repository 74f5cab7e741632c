// The search for packing groups over all parallelisms: which lengths, how many GPUs share a pack of
// each, and what every stage recomputes for it.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUPED_SEARCH_H_
#define EVENKEEL_PLANNER_GROUPS_GROUPED_SEARCH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/groups/group_batching.h"
#include "planner/groups/group_sets.h"
#include "planner/job.h"
#include "planner/plan.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// A group with its packs and the plan of its steps.
struct GroupRun {
  ChosenGroup group;
  GroupData data;
  LayerProfile profile;
  Candidate candidate;  // all runs of a plan have the same boundaries
  Candidate
      mean_packs;  // the same cut of the packs that `group` was chosen by, as the bound has it
  double steps() const;  // of these in an epoch
};

struct GroupedSearch {
  std::vector<GroupRun> runs;  // ascending in length; empty: nothing fits
  double epoch_ns = 0;         // of real packs in whole steps
  GroupSet published, exact;   // of the plan's split, timed with mean packs
  double epoch_bound_ns = 0;   // no split, lengths, partition and recompute have a shorter epoch of
                               // GroupRun::mean_packs; 0: none can be given
  int64_t parallelisms = 0, parallelisms_unfit = 0, parallelisms_unsearched = 0;
  int64_t examined_sets = 0;
  bool stopped = false;
};

// By job.training.group_selection, kPublished or kExact. Splits are first compared under even
// stages; the best few get the partition that is best for one of their groups, and real packs
// decide between them.
// Splits are looked at from the most promising on, those of `first` before all; when a fixed amount
// of work is done the rest is left unsearched, and counts in the bound as
// the FLOPs of the dataset at the GPUs' peak rate.
GroupedSearch SearchGroups(const Job& job, const LengthClasses& classes,
                           const std::function<bool()>& stop,
                           const std::vector<Parallelism>& first = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUPED_SEARCH_H_
