// Draws samples from a joint histogram, to try a batch rule on.
#ifndef EVENKEEL_PLANNER_PACKING_SAMPLE_H_
#define EVENKEEL_PLANNER_PACKING_SAMPLE_H_

#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Lengths that own their values.
struct DrawnSamples {
  std::vector<int32_t> units, tokens, encoder_units;
  Lengths lengths() const { return {units, tokens, encoder_units}; }
};

int64_t SampleCount(const Dataset& dataset);

// Draws at most `at_most` samples systematically. They are evenly spaced in the order of bins, so
// that adjacent rare bins are drawn as often as a single bin with the same samples. Draws all
// samples if there are at most `at_most`. The samples are in bin order, not shuffled.
DrawnSamples DrawSamples(const Dataset& dataset, int64_t at_most);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_SAMPLE_H_
