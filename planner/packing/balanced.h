// Our packer: as few packs as can be proven or nearly so, and all of them alike.
#ifndef EVENKEEL_PLANNER_PACKING_BALANCED_H_
#define EVENKEEL_PLANNER_PACKING_BALANCED_H_

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

enum class PackEffort {
  kFast,      // for predictions: within half a percent of the fewest packs is good enough
  kThorough,  // until a lower bound is met, or a counted amount of work is done
};

// Every sample must fit the caps alone. First packs are designed: cutting stock over groups of like
// samples gives the fewest packs that hold all units, with means of tokens as even as can be. Then
// real samples are chosen so that packs come out level. Never more packs than first fit or best fit
// decreasing make, in either order of types. Peak memory, result included: about 20 bytes per
// sample.
Packing PackBalanced(const Lengths& lengths, const Caps& caps,
                     PackEffort effort = PackEffort::kThorough, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BALANCED_H_
