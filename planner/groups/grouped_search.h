// The search for packing groups over all parallelisms: it chooses the lengths, how many GPUs share
// a pack of each length, and what every stage recomputes for it.
#ifndef EVENKEEL_PLANNER_GROUPS_GROUPED_SEARCH_H_
#define EVENKEEL_PLANNER_GROUPS_GROUPED_SEARCH_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/groups/group_batching.h"
#include "planner/groups/group_sets.h"
#include "planner/job.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// One group with its packs and the plan of its steps.
struct GroupRun {
  ChosenGroup group;
  GroupData data;
  LayerProfile profile;
  Candidate candidate;  // all runs of a plan have the same boundaries
  // The cut of `candidate` for the mean packs by which `group` was chosen, as in the bound.
  Candidate mean_packs;
  double steps() const;  // returns the steps of this group in an epoch
};

struct GroupedSearchResult {
  std::vector<GroupRun> runs;  // ascending in length; empty if nothing fits
  // Time, in mean packs, of chosen groups that end up without a pack of their own, because the real
  // packs of longer groups hold all their samples. Part of the epoch that epoch_bound_ns bounds.
  double filled_ns = 0;
  double epoch_ns = 0;        // with real packs, in whole steps
  GroupSet published, exact;  // for the plan's split, timed with mean packs
  // Lower bound on the epoch of GroupRun::mean_packs over all splits, lengths, partitions and
  // recompute choices; 0 if unknown.
  double epoch_bound_ns = 0;
  int64_t parallelisms = 0, parallelisms_unfit = 0, parallelisms_unsearched = 0;
  int64_t examined_sets = 0;
  bool stopped = false;
};

// Searches by job.training.group_selection, which is kPublished or kExact. Splits are first
// compared with even stages. The best few then get the partition that is best for one of their
// groups, and real packs decide between them. Splits of `first` are examined first, then the others
// from the most promising on. Once a fixed amount of work is done, the rest stays unsearched and
// enters the bound with the time of the dataset's FLOPs at the GPUs' peak rate.
GroupedSearchResult SearchGroups(const Job& job, const LengthClasses& classes, const Stop& stop,
                                 const std::vector<Parallelism>& first = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_GROUPED_SEARCH_H_
