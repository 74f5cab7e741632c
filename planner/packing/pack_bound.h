// Lower bounds, proven in integers, on the number of packs of every packing under two caps.
#ifndef EVENKEEL_PLANNER_PACKING_PACK_BOUND_H_
#define EVENKEEL_PLANNER_PACKING_PACK_BOUND_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

struct PackBound {
  int64_t packs = 0;  // counts each oversize sample that is packed alone as one
  // The strongest argument: "volume", "long samples", "samples of many units", "column generation
  // over units" or "... over units and tokens".
  const char* method = "volume";
};

// Returns the bound without column generation over both dimensions. The time it takes is
// negligible.
PackBound CheapLowerBound(const SampleTypes& types, const Caps& caps, const Stop& stop = {});

// Returns the best bound. `reached` is a number of packs that is already achieved: if cheap
// arguments come within 0.05% of it, costly ones are skipped. If 0, no argument is skipped.
PackBound LowerBound(const SampleTypes& types, const Caps& caps, int64_t reached = 0,
                     const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACK_BOUND_H_
