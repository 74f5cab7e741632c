// Designs packs by sample group: whole numbers of packs of each pattern that hold every sample.
#ifndef EVENKEEL_PLANNER_PACKING_PACK_PATTERNS_H_
#define EVENKEEL_PLANNER_PACKING_PACK_PATTERNS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_groups.h"

namespace evenkeel::planner {

// Default limit on the cells of the knapsack's grid that one design computes: about half a second.
inline constexpr int64_t kDesignWorkAtMost = 400'000'000;

struct PackPattern {
  std::vector<std::pair<int32_t, int32_t>> content;  // (group, samples of it), groups ascending
  int64_t times = 0;
};

struct PackDesign {
  std::vector<PackPattern> patterns;
  int64_t packs = 0;       // sum over all patterns
  int64_t work = 0;        // spent on this design, for budgets
  bool cut_short = false;  // the work ran out, and first fit packed the rest
};

// Designs as few packs as cutting stock needs, from patterns whose mean tokens are as near to
// `tokens_per_pack` as possible. Units fit exactly; the tokens of mean samples fit `slack` times
// the cap, so that only the choice of samples that even out remains.
PackDesign DesignPacks(const std::vector<SampleGroup>& groups, const Caps& caps,
                       double tokens_per_pack, double slack, const Stop& stop = {},
                       int64_t work_at_most = kDesignWorkAtMost);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACK_PATTERNS_H_
