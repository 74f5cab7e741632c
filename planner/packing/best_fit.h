// Best-fit decreasing: each sample goes to the open pack that it fills best.
#ifndef EVENKEEL_PLANNER_PACKING_BEST_FIT_H_
#define EVENKEEL_PLANNER_PACKING_BEST_FIT_H_

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/type_order.h"

namespace evenkeel::planner {

// The best pack is the one with the fewest tokens left, then the fewest units left. REQUIRES: every
// sample fits the caps alone.
Packing PackBestFit(const Lengths& lengths, const Caps& caps, TypeOrder order,
                    const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BEST_FIT_H_
