// What packs hold, by group: whole numbers of packs of each pattern that take up every sample.
#ifndef EVENKEEL_PLANNER_PACKING_PACK_PATTERNS_H_
#define EVENKEEL_PLANNER_PACKING_PACK_PATTERNS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_groups.h"

namespace evenkeel::planner {

// Cells of the knapsack's grid that one design fills in at most, unless told otherwise: half a
// second or so.
inline constexpr int64_t kDesignWorkAtMost = 400'000'000;

struct PackPattern {
  std::vector<std::pair<int32_t, int32_t>> content;  // (group, samples of it), groups ascending
  int64_t times = 0;
};

struct PackDesign {
  std::vector<PackPattern> patterns;
  int64_t packs = 0;       // of all patterns
  int64_t work = 0;        // spent on it, for budgets
  bool cut_short = false;  // the work ran out: what was left went by first fit
};

// As few packs as cutting stock needs, of patterns whose mean tokens lie as near to
// `tokens_per_pack` as they can. Units fit exactly; the tokens of mean samples fit `slack` times
// the cap, so that what is left to do is to choose samples that even out.
PackDesign DesignPacks(const std::vector<SampleGroup>& groups, const Caps& caps,
                       double tokens_per_pack, double slack, const Stop& stop = {},
                       int64_t work_at_most = kDesignWorkAtMost);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACK_PATTERNS_H_
