// The planner's fourth door: one step of an evaluated plan, pass by pass. Pure, like MakePlan.
#ifndef EVENKEEL_PLANNER_PLAN_TIMELINE_H_
#define EVENKEEL_PLANNER_PLAN_TIMELINE_H_

#include <cstdint>

#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "planner/simulate/timeline.h"

namespace evenkeel::planner {

// Packs of a rank x stages x virtual stages: what the size of the plan's timeline grows by.
int64_t TimelineCells(const Plan& plan);

// The first step of the epoch with the packs of each data-parallel rank as they are dealt; mean
// packs, the same on all ranks, where those are more than 4096, or have more than kEventsAtMost
// forwards to simulate, or are one. Memory is that of the plan's stages and peaks as they do; what
// a forward pass holds for a moment is not shown. Without the correction by measured steps.
// REQUIRES: no faults.
Timeline TimelineOf(const Job& job, const Evaluation& evaluation);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_TIMELINE_H_
