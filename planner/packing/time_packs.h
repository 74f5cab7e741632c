// Makes packs that are level in predicted time, under the caps of tokens and units.
#ifndef EVENKEEL_PLANNER_PACKING_TIME_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_TIME_PACKS_H_

#include <cstdint>
#include <span>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// How packs are made level in time.
enum class TimeMethod {
  // Samples, longest first, each go to the pack of least time that has room for its tokens. Makes
  // no packs if samples have units.
  kLongestFirst,
  // Time is one more column, without a cap, of packs that are dealt and levelled (DealLevel).
  kColumn,
};

// Makes packs in about the fewest number that the caps allow: at most 2% above the bound by volume
// for kLongestFirst. Returns no packs if the method cannot. REQUIRES: every sample fits the caps
// alone; `sample_times` are those of SampleTimes.
Packing PackByTime(const Lengths& lengths, const Caps& caps, std::span<const int32_t> sample_times,
                   TimeMethod method, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_TIME_PACKS_H_
