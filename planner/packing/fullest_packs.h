// Packs of few long samples, each made as full as a search finds: minimum bin slack from the
// largest sample on (MBS': Gupta and Ho 1999, Fleszar and Hindi 2002).
#ifndef EVENKEEL_PLANNER_PACKING_FULLEST_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_FULLEST_PACKS_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Samples without units, each of which fits `token_cap` alone. The fewest packs of several runs
// that prefer few large samples to many small ones more and more; ends at `good` packs. Empty where
// packs hold many samples or there are too many samples: other packers are as good there. Nodes are
// counted, so the result is the same everywhere.
Packing PackFullest(const Lengths& lengths, int64_t token_cap, int64_t good, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_FULLEST_PACKS_H_
