// Next fit: samples in random order, a pack closed by the first that does not fit. XTuner's soft
// packing.
#ifndef EVENKEEL_PLANNER_PACKING_NEXT_FIT_H_
#define EVENKEEL_PLANNER_PACKING_NEXT_FIT_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Every sample must fit the caps alone.
Packing PackNextFit(const Lengths& lengths, const Caps& caps, uint64_t seed, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_NEXT_FIT_H_
