// The search over all parallelisms. For each that no bound dismisses mean packs choose a partition;
// all of these that may be the best are finished with the real spread of packs.
#ifndef EVENKEEL_PLANNER_SEARCH_SEARCH_H_
#define EVENKEEL_PLANNER_SEARCH_SEARCH_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/partition/methods.h"
#include "planner/plan.h"
#include "planner/search/candidate.h"
#include "planner/search/parallelisms.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

struct SearchResult {
  std::vector<Candidate> best;  // the plan, then its alternatives; empty: nothing fits
  // The degrees of the plan and of the most promising others, however many alternatives were asked
  // for.
  std::vector<Parallelism> promising;
  Proof proof;  // but for the plan's own values
  // Whether some degrees that may be the best do not fit, or not with every cut, where nothing is
  // recomputed. Known of RecomputePolicy::kOneSetting alone.
  bool memory_binds = false;
  bool stopped = false;
};

// The plan whose epoch in whole steps is the quickest with real packs; behind it the best of so
// many other degrees (virtual stages apart). How many are asked for changes neither plan nor proof.
// Only a plan whose step is shorter than `beat_ns` (scaled to the requested global batch) is looked
// for; 0: any.
SearchResult Search(const Job& job, const Batching& batching, int64_t alternatives,
                    const Stop& stop, int64_t beat_ns = 0);

// Whether Search finds any plan.
bool SomethingFits(const Job& job, const Batching& batching, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_SEARCH_H_
