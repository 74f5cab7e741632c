// Entry point of the planner: one step of an evaluated plan, pass by pass. Pure, like MakePlan.
#ifndef EVENKEEL_PLANNER_PLAN_TIMELINE_H_
#define EVENKEEL_PLANNER_PLAN_TIMELINE_H_

#include <cstdint>

#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "planner/simulate/timeline.h"

namespace evenkeel::planner {

// Returns packs of a rank x stages x virtual stages. The size of the plan's timeline is
// proportional to it.
int64_t TimelineCells(const Plan& plan);

// Returns the first step of the epoch, with the packs of each data-parallel rank as they are dealt.
// If there are more than 4096 ranks, only one rank, or more than kEventsAtMost forwards to
// simulate, the step has mean packs, the same on all ranks. Memory and its peaks are those of the
// plan's stages; memory that a forward pass holds for a moment is not shown. The correction by
// measured steps is not applied. REQUIRES: `evaluation` has no faults.
Timeline TimelineOf(const Job& job, const Evaluation& evaluation);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_TIMELINE_H_
