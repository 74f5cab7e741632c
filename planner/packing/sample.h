// Samples drawn from a joint histogram, to try a batch rule on.
#ifndef EVENKEEL_PLANNER_PACKING_SAMPLE_H_
#define EVENKEEL_PLANNER_PACKING_SAMPLE_H_

#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Lengths that are owned.
struct DrawnSamples {
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

int64_t SampleCount(const Dataset& dataset);

// Stratified: bin i gives its share of `at_most` draws, whole parts first and the rest by largest
// remainder (ties to the earlier bin). All samples where there are no more than `at_most`. In bin
// order, not shuffled.
DrawnSamples DrawSamples(const Dataset& dataset, int64_t at_most);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_SAMPLE_H_
