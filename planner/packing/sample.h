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

// Systematic: of the samples in the order of bins, every so-manieth, so that rare bins next to each
// other are drawn as often as one that held them all. All samples where there are no more than
// `at_most`. In bin order, not shuffled.
DrawnSamples DrawSamples(const Dataset& dataset, int64_t at_most);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_SAMPLE_H_
