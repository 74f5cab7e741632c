// The planner's own packer: it makes as few packs as possible, or nearly so, and makes them all
// alike.
#ifndef EVENKEEL_PLANNER_PACKING_BALANCED_H_
#define EVENKEEL_PLANNER_PACKING_BALANCED_H_

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

enum class PackEffort {
  kFast,      // for predictions: ends within 0.5% of the fewest packs
  kThorough,  // ends at a lower bound, or after a counted amount of work
};

// Packs the samples. First it designs packs: cutting stock over groups of similar samples gives the
// fewest packs that hold all units, with mean tokens as even as possible. Then it chooses real
// samples so that packs come out level. The result never has more packs than first fit or best fit
// decreasing make, in either order of types. Peak memory, result included, is about 20 bytes per
// sample. REQUIRES: every sample fits the caps alone.
Packing PackBalanced(const Lengths& lengths, const Caps& caps,
                     PackEffort effort = PackEffort::kThorough, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BALANCED_H_
