// How few packs there can be: a lower bound on every packing under two caps, proven in integers.
#ifndef EVENKEEL_PLANNER_PACKING_PACK_BOUND_H_
#define EVENKEEL_PLANNER_PACKING_PACK_BOUND_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

struct PackBound {
  int64_t packs = 0;  // oversize samples that travel alone count one each
  // The strongest argument: "volume", "long samples", "column generation over units" or "... over
  // units and tokens".
  const char* method = "volume";
};

// Without column generation over both dimensions: takes no noticeable time.
PackBound CheapLowerBound(const SampleTypes& types, const Caps& caps, const Stop& stop = {});

// `reached`: packs that somebody has come down to; arguments that cost more are spared where the
// cheap ones come within 0.05% of it. 0: nothing is spared.
PackBound LowerBound(const SampleTypes& types, const Caps& caps, int64_t reached = 0,
                     const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACK_BOUND_H_
