// Makes packs of samples of any number of sizes by dealing them to a given number of packs, from
// the lower bound up.
#ifndef EVENKEEL_PLANNER_PACKING_LEVEL_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_LEVEL_PACKS_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

// Deals samples to `packs` packs. Packs that cannot be kept within the caps give samples away to
// further packs, by first fit. `sorted` are the samples of `lengths`.
Packing DealLevel(const Lengths& lengths, const Caps& caps, const SortedSamples& sorted,
                  int64_t packs, const Stop& stop = {});

// Returns the fewest packs of several deals: to `from` packs, then to more, in steps that double,
// while there is something to gain. The search ends at `enough` packs. REQUIRES: there are samples,
// and 0 < from <= their number.
Packing PackLevel(const Lengths& lengths, const Caps& caps, const SortedSamples& sorted,
                  int64_t from, int64_t enough, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_LEVEL_PACKS_H_
