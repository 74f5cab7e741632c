// Groups the packs of a window into steps whose packs take the same time, both in the vision part
// and in the language part.
#ifndef EVENKEEL_PLANNER_PACKING_ALIKE_STEPS_H_
#define EVENKEEL_PLANNER_PACKING_ALIKE_STEPS_H_

#include <cstdint>
#include <span>

#include "planner/base/stop.h"
#include "planner/packing/strips.h"

namespace evenkeel::planner {

// Reorders a window. From the front, every `step_packs` packs form a step; the packs left over are
// last.
void GroupAlike(std::span<WorkItem> window, int64_t step_packs, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_ALIKE_STEPS_H_
