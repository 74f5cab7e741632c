// First-fit decreasing. The greedy knapsack, which fills one pack after the other with the largest
// remaining sample that fits, makes exactly the packs of first fit, so this code serves both, each
// in its own order.
#ifndef EVENKEEL_PLANNER_PACKING_FIRST_FIT_H_
#define EVENKEEL_PLANNER_PACKING_FIRST_FIT_H_

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/type_order.h"

namespace evenkeel::planner {

// Returns packs in the order in which first fit opens them. The cost is O(N + P log T) for N
// samples, T types and P samples in packs that differ, because packs of one pattern are made all at
// once. REQUIRES: every sample fits the caps alone.
Packing PackFirstFit(const Lengths& lengths, const Caps& caps, TypeOrder order,
                     const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_FIRST_FIT_H_
