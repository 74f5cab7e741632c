// Finds the fewest packs under two caps by trying all partitions.
#ifndef EVENKEEL_TESTS_REFERENCE_FEWEST_PACKS_H_
#define EVENKEEL_TESTS_REFERENCE_FEWEST_PACKS_H_

#include <cstdint>
#include <vector>

#include "planner/packing/packing.h"

namespace evenkeel::reference {

// Returns the number of packs. Needs samples that each fit alone, and about ten of them.
int64_t FewestPacks(const planner::Lengths& lengths, const planner::Caps& caps);

}  // namespace evenkeel::reference

#endif  // EVENKEEL_TESTS_REFERENCE_FEWEST_PACKS_H_
