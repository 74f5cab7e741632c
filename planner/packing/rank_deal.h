// Deals the packs of one step to its ranks.
#ifndef EVENKEEL_PLANNER_PACKING_RANK_DEAL_H_
#define EVENKEEL_PLANNER_PACKING_RANK_DEAL_H_

#include <cstdint>
#include <span>

#include "planner/packing/deal_rule.h"

namespace evenkeel::planner {

// Fills `row` (ranks x packs_per_rank) with the packs of a step, and -1 where there are too few.
// Every rank gets the same number (or up to one less if there are too few), with totals as equal as
// swaps can make them. Rank numbers are rotated by `turn`, so that no rank always has the larger
// packs.
void DealToRanks(std::span<const uint32_t> packs, std::span<const PackWork> work,
                 const DealRule& rule, int64_t turn, std::span<int64_t> row);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_RANK_DEAL_H_
