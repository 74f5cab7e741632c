// Packs of a window into steps of packs that take the same time, in the vision part and in the
// language part.
#ifndef EVENKEEL_PLANNER_PACKING_ALIKE_STEPS_H_
#define EVENKEEL_PLANNER_PACKING_ALIKE_STEPS_H_

#include <cstdint>
#include <span>

#include "planner/base/stop.h"
#include "planner/packing/strips.h"

namespace evenkeel::planner {

// Orders a window: each `step_packs` from the front are a step; what is left over is last.
void GroupAlike(std::span<WorkItem> window, int64_t step_packs, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_ALIKE_STEPS_H_
