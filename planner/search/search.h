// The search over all parallelisms. Mean packs choose a partition for each that no bound prunes;
// those that may be the best are finished with the real spread of packs.
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
#include "planner/search/work_limits.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

struct SearchResult {
  std::vector<Candidate> best;  // the plan, then its alternatives; empty: nothing fits
  // The degrees of the plan and of the most promising others, whatever the number of alternatives.
  std::vector<Parallelism> promising;
  Proof proof;  // without the plan's own values
  // True if memory limits the search without recompute: some degrees that may be the best, or some
  // of their cuts, do not fit. Set only under RecomputePolicy::kOneSetting.
  bool memory_binds = false;
  bool stopped = false;
};

// Returns the plan whose epoch in whole steps is quickest with real packs, then the best of up to
// `alternatives` other degrees (virtual stages apart). Their number changes neither plan nor proof.
// Looks only for plans with a step below `beat_ns` (scaled to the requested global batch), or for
// any if it is 0.
SearchResult Search(const Job& job, const Batching& batching, int64_t alternatives,
                    const Stop& stop, int64_t beat_ns = 0, const WorkLimits& limits = {});

// Returns whether Search finds any plan.
bool FitsWithPacks(const Job& job, const Batching& batching, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_SEARCH_H_
