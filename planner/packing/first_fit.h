// First-fit decreasing. A pack that repeatedly takes the largest remaining sample that fits, as the
// greedy knapsack does, becomes just what first fit would have made of it; so both are this, in
// their own orders.
#ifndef EVENKEEL_PLANNER_PACKING_FIRST_FIT_H_
#define EVENKEEL_PLANNER_PACKING_FIRST_FIT_H_

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/type_order.h"

namespace evenkeel::planner {

// Every sample must fit the caps alone. Packs in the order in which first fit opens them. Cost
// O(N + P log T) for T types and P samples in packs that differ: packs of one pattern are made all
// at once.
Packing PackFirstFit(const Lengths& lengths, const Caps& caps, TypeOrder order,
                     const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_FIRST_FIT_H_
