// Dealing: packs to steps, ranks and slots. The order is a function of the packs' work and
// DealRule alone, the same on every platform; docs/ALGORITHMS.md describes it to the last step so
// that others can write it again.
#ifndef EVENKEEL_PLANNER_PACKING_DEAL_H_
#define EVENKEEL_PLANNER_PACKING_DEAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Time of one pack in each part, as integers so that decisions do not depend on rounding: below
// 2^30, 0 and up.
struct PackWork {
  int32_t vision = 0;
  int32_t language = 0;
};
// In units of time such that the longest part of any pack has 30 bits.
std::vector<PackWork> WorkOf(std::span<const PackSums> sums, const PackTimes& times);

struct DealRule {
  int64_t ranks = 1;           // data parallel
  int64_t packs_per_rank = 1;  // per step: micro-batches; a multiple of `group`
  // Steps whose packs may be exchanged for balance. 1: every step is a random draw of packs; more:
  // packs are shuffled, cut into windows of so many steps, and those of a window grouped by work
  // into steps; 0: one window, the whole epoch. Steps then run in random order.
  int64_t window = 1;
  int64_t group = 1;  // consecutive packs of a rank that are alike: sequence parallelism of so many
  uint64_t seed = 0;
  int64_t epoch = 0;
  Stop stop = {};
};

// Step order, steps x ranks x packs_per_rank, row by row: a pack's index, or -1 where there is
// none. Every pack comes once. Only the last step may have -1: its packs are spread so that a rank
// gets a second only when all have one. Within a rank and step the packs of least work are at the
// ends.
std::vector<int64_t> Deal(std::span<const PackWork> work, const DealRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_DEAL_H_
