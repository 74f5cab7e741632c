// The search over all parallelisms. Mean packs choose a partition for each that no bound prunes;
// those that may be the best are finished with the real spread of packs.
#ifndef EVENKEEL_PLANNER_SEARCH_SEARCH_H_
#define EVENKEEL_PLANNER_SEARCH_SEARCH_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/candidates/candidate.h"
#include "planner/candidates/parallelisms.h"
#include "planner/candidates/work_limits.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/partition/methods.h"
#include "planner/plan.h"
#include "planner/search/incumbent.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

struct SearchResult {
  std::vector<Candidate> best;  // the plan, then its alternatives; empty: nothing fits
  // The degrees of the plan and of the most promising others. They do not depend on the number of
  // alternatives.
  std::vector<Parallelism> promising;
  Proof proof;  // without the plan's own values
  // True if memory limits the search without recompute: some degrees that may be the best, or some
  // of their cuts, do not fit. Set only under RecomputePolicy::kOneSetting.
  bool memory_binds = false;
  // The degrees for which a plan was found whose step is below SearchScope::beat_ns. With
  // SearchScope::all_better, these are all such degrees; otherwise, those examined before a better
  // plan was found.
  std::vector<Parallelism> better;
  bool stopped = false;
};

// Returns the plan whose epoch in whole steps is quickest with real packs, then the best of up to
// `alternatives` other degrees (virtual stages apart). Their number changes neither plan nor proof.
SearchResult Search(const Job& job, const Batching& batching, int64_t alternatives,
                    const Stop& stop, const SearchScope& scope = {}, const WorkLimits& limits = {});

// Returns whether Search finds any plan.
bool FitsWithPacks(const Job& job, const Batching& batching, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_SEARCH_H_
