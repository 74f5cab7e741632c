// Makes packs of designed patterns from real samples.
#ifndef EVENKEEL_PLANNER_PACKING_FILL_PATTERNS_H_
#define EVENKEEL_PLANNER_PACKING_FILL_PATTERNS_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/pack_patterns.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_groups.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

// `groups` are groups of the samples in `sorted`, and `patterns` hold all of those samples. If
// levelling cannot keep all packs under the token cap, the result has more packs than the patterns.
Packing FillPatterns(const Lengths& lengths, const Caps& caps, const SortedSamples& sorted,
                     const std::vector<SampleGroup>& groups,
                     const std::vector<PackPattern>& patterns, const Stop& stop = {});

// Packs the samples that levelling took out into new packs, by first fit decreasing.
void PackRest(const Lengths& lengths, const Caps& caps, std::vector<uint32_t> rest,
              const Stop& stop, Packing& packing);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_FILL_PATTERNS_H_
