// Iterative sampling and filtering: OmniBal's packer (arXiv 2407.20761, section 4.1;
// docs/ALGORITHMS.md).
#ifndef EVENKEEL_PLANNER_PACKING_ISF_H_
#define EVENKEEL_PLANNER_PACKING_ISF_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// If no Qt' is given, OmniBal's Qt - 128 is used, and at least 1.
inline constexpr int64_t kKeepSlack = 128;
constexpr int64_t DefaultKeepTokens(int64_t token_cap) {
  return token_cap > kKeepSlack ? token_cap - kKeepSlack : 1;
}

struct IsfRule {
  // Qv': a pack is kept if it has at least this many units (0: never because of its units) ...
  int64_t keep_units = 0;
  int64_t keep_tokens = 0;  // Qt': ... or at least this many tokens
  int64_t iterations = 10;  // T
  uint64_t seed = 0;
};

// Returns packs in the order in which they were kept, then those of the leftovers. The cost is O(T
// (N + M)) for N samples and M packs. REQUIRES: every sample fits the caps alone (Pack in packer.h
// ensures that).
Packing PackByIsf(const Lengths& lengths, const Caps& caps, const IsfRule& rule,
                  const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_ISF_H_
