// Packs that are as alike as can be, in tokens and in squared lengths, and nearly as few as can be.
#ifndef EVENKEEL_PLANNER_PACKING_EVEN_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_EVEN_PACKS_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Where packs hold many samples and none has units. The longest sample first, each to the pack with
// the fewest tokens, of equals the first (LPT: Graham 1969). Of the numbers of packs from the
// volume's to half a percent above, the least at which all are within the cap. Empty where there is
// none, or packs hold few samples, or samples have units.
Packing PackEvenly(const Lengths& lengths, int64_t token_cap, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_EVEN_PACKS_H_
