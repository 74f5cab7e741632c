// Deals packs to steps, ranks and slots. The order depends only on the packs' work and the
// DealRule, and is the same on every platform. docs/PACK_ORDER.md specifies it for other
// implementations.
#ifndef EVENKEEL_PLANNER_PACKING_DEAL_H_
#define EVENKEEL_PLANNER_PACKING_DEAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/deal_rule.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Returns the work of each pack, in a unit of time in which the longest part of any pack has 30
// bits.
std::vector<PackWork> WorkOf(std::span<const PackSums> sums, const PackTimes& times);

// Returns the order, steps x ranks x packs_per_rank, row by row: a pack's index, or -1 if there is
// none. Every pack appears once. Only the last step may contain -1; its packs are spread so that no
// rank gets a second pack before all ranks have one. Within a rank and step, the packs of least
// work are at the ends.
std::vector<int64_t> Deal(std::span<const PackWork> work, const DealRule& rule);

// Returns the first `steps` steps of Deal's order, or all if there are fewer.
std::vector<int64_t> DealBeginning(std::span<const PackWork> work, const DealRule& rule,
                                   int64_t steps);

// The first steps of an epoch before their packs are dealt to ranks. Only the number of packs in a
// step matters, not how many ranks share them.
struct FormedSteps {
  int64_t step_packs = 0;
  std::vector<uint32_t> packs;  // of step s from s * step_packs on; the last step may have fewer
  std::vector<uint32_t> order;  // of the steps
  Random random;                // draws the rank at which each step's deal begins
};

// DealBeginning in two parts. Both read the same work and rule, except that FormSteps does not read
// how `rule.ranks` x `rule.packs_per_rank` is divided.
FormedSteps FormSteps(std::span<const PackWork> work, const DealRule& rule, int64_t steps);
std::vector<int64_t> DealSteps(const FormedSteps& steps, std::span<const PackWork> work,
                               const DealRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_DEAL_H_
