// Predicted time of packs in integers, so that comparing two epochs does not depend on rounding.
#ifndef EVENKEEL_PLANNER_PACKING_PACK_TIME_H_
#define EVENKEEL_PLANNER_PACKING_PACK_TIME_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/packing/deal_rule.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Time of one pack, both parts one after the other, in the unit of `times`.
double SecondsOf(const PackSums& sums, const PackTimes& times);

// Returns the time of each sample, in the unit in which the longest sample has 28 bits, rounded to
// nearest and at least 0. A dummy that a pack may need is not counted.
std::vector<int32_t> SampleTimes(const Lengths& lengths, const PackTimes& times);

// Returns the time of each pack, in a unit that depends only on the samples: packs of the same
// samples may be compared. The longest sample has 28 bits.
std::vector<int64_t> PackTimesOf(const Lengths& lengths, std::span<const PackSums> sums,
                                 const PackTimes& times);

// Returns work that is all in one part, with at most 30 bits.
std::vector<PackWork> WorkByTime(std::span<const int64_t> pack_times);

struct Epoch {
  int64_t time = 0;  // sum over steps of the time of the slowest rank
  // Share of the time that ranks wait for the slowest, over the steps in which every rank has a
  // pack, as in Balance::idle.
  double idle = 0;
};

// Absent packs (-1) take no time.
Epoch EpochOf(std::span<const int64_t> pack_times, std::span<const int64_t> order,
              const DealRule& rule);

// Returns a lower bound on Epoch::time of these packs in any order: the longest pack of a step is
// no longer than the step, and ranks cannot all be faster than their mean.
int64_t EpochTimeBound(std::vector<int64_t> pack_times, const DealRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACK_TIME_H_
