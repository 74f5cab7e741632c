// Chooses caps and parallelism together: which packs to make, and the best plans for them.
#ifndef EVENKEEL_PLANNER_CHOOSE_CAPS_H_
#define EVENKEEL_PLANNER_CHOOSE_CAPS_H_

#include <cstdint>

#include "planner/candidates/work_limits.h"
#include "planner/choose/size_search.h"
#include "planner/job.h"
#include "planner/plan_hooks.h"

namespace evenkeel::planner {

// Chooses caps and searches plans for them. A job that pads micro-batches has no caps, and caps
// that the job gives are kept. Otherwise level packs are searched first. They are long: a step has
// few of them, so few ranks get one, the pipeline bubble is larger, and each needs more memory. So
// other packs are tried in brief searches, and the best are searched in full (docs/ALGORITHMS.md).
// If level packs do not fit, the shortest are searched first.
// `alternatives` is the number of plans of other degrees to list.
CapsSearchResult ChooseCaps(const Job& job, int64_t alternatives, const PlanHooks& hooks,
                            const WorkLimits& limits = {});

// Returns whether ChooseCaps finds any plan. False if stopped.
bool FitsWithAnyPacks(const Job& job, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHOOSE_CAPS_H_
