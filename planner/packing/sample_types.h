// A dataset as counts per (units, tokens), since samples of equal lengths are interchangeable.
#ifndef EVENKEEL_PLANNER_PACKING_SAMPLE_TYPES_H_
#define EVENKEEL_PLANNER_PACKING_SAMPLE_TYPES_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct SampleType {
  int32_t units = 0;
  int32_t tokens = 0;
  int64_t count = 0;
};

// Distinct (units, tokens), ascending.
using SampleTypes = std::vector<SampleType>;

// Sample indices sorted by (units, tokens), index ascending within a type, with the types.
struct SortedSamples {
  SampleTypes types;
  std::vector<uint32_t> order;  // N
};
SortedSamples SortByType(const Lengths& lengths, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_SAMPLE_TYPES_H_
