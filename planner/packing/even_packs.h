// Makes packs that are as alike as possible, in tokens and in squared lengths, and nearly as few as
// possible.
#ifndef EVENKEEL_PLANNER_PACKING_EVEN_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_EVEN_PACKS_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Makes packs of many samples without units. Samples, longest first, each go to the pack with the
// fewest tokens, the first one of equals (LPT: Graham 1969). The number of packs is the least, from
// the volume bound to 0.5% above it, at which all packs are within the cap. Returns no packs if
// there is no such number, if packs hold few samples, or if samples have units.
Packing PackEvenly(const Lengths& lengths, int64_t token_cap, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_EVEN_PACKS_H_
