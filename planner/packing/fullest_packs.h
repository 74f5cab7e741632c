// Makes packs of few long samples, each as full as a search can make it: minimum bin slack from the
// largest sample on (MBS': Gupta and Ho 1999, Fleszar and Hindi 2002).
#ifndef EVENKEEL_PLANNER_PACKING_FULLEST_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_FULLEST_PACKS_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Returns the packing with the fewest packs of several runs. From run to run, the preference for
// few large samples over many small ones grows. The search ends once a run has at most `good`
// packs. Returns no packs if packs hold many samples or there are too many samples, since other
// packers are as good in these cases. The work is counted in nodes, so the result is the same on
// every platform. REQUIRES: samples have no units, and each fits `token_cap` alone.
Packing PackFullest(const Lengths& lengths, int64_t token_cap, int64_t good, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_FULLEST_PACKS_H_
