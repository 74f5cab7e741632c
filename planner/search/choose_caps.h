// Caps and parallelism together: which packs to make, and the best plans for them.
#ifndef EVENKEEL_PLANNER_SEARCH_CHOOSE_CAPS_H_
#define EVENKEEL_PLANNER_SEARCH_CHOOSE_CAPS_H_

#include <cstdint>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan_hooks.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

struct CapsSearch {
  Batching batching;
  SearchResult found;
  bool stopped = false;  // nothing else is valid
};

// Given caps as they are. Else first those whose packs come out level. Long packs are few, which
// pipelines pay for, and take memory: where shorter ones promise a faster step under the
// parallelism found, they are searched, and the better of the two stays. If it recomputes, still
// shorter ones are searched. Where level packs do not fit in memory, the shortest are searched
// first. `alternatives`: plans of other degrees to list.
CapsSearch ChooseCaps(const Job& job, int64_t alternatives, const PlanHooks& hooks);

// Whether ChooseCaps finds any plan. False where `stop` says so.
bool SomethingFits(const Job& job, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_CHOOSE_CAPS_H_
