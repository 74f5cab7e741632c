// Best-fit decreasing: each sample goes to the open pack that it fills best.
#ifndef EVENKEEL_PLANNER_PACKING_BEST_FIT_H_
#define EVENKEEL_PLANNER_PACKING_BEST_FIT_H_

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/type_order.h"

namespace evenkeel::planner {

// Every sample must fit the caps alone. Best: fewest tokens left, then fewest units left.
Packing PackBestFit(const Lengths& lengths, const Caps& caps, TypeOrder order,
                    const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BEST_FIT_H_
