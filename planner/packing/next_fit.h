// Next fit: takes samples in random order and closes a pack at the first sample that does not fit.
// This is XTuner's soft packing.
#ifndef EVENKEEL_PLANNER_PACKING_NEXT_FIT_H_
#define EVENKEEL_PLANNER_PACKING_NEXT_FIT_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// REQUIRES: every sample fits the caps alone.
Packing PackNextFit(const Lengths& lengths, const Caps& caps, uint64_t seed, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_NEXT_FIT_H_
