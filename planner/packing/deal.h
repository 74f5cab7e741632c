// Deals packs to steps, ranks and slots. The order depends only on the packs' work and the
// DealRule, and is the same on every platform; docs/ALGORITHMS.md describes it in every detail, so
// that others can reimplement it.
#ifndef EVENKEEL_PLANNER_PACKING_DEAL_H_
#define EVENKEEL_PLANNER_PACKING_DEAL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Time of one pack in each part, as integers from 0 to below 2^30, so that decisions do not depend
// on rounding.
struct PackWork {
  int32_t vision = 0;
  int32_t language = 0;
};
// Returns the work of each pack, in a unit of time in which the longest part of any pack has 30
// bits.
std::vector<PackWork> WorkOf(std::span<const PackSums> sums, const PackTimes& times);

struct DealRule {
  int64_t ranks = 1;           // data parallel
  int64_t packs_per_rank = 1;  // per step: micro-batches; a multiple of `group`
  // Number of steps whose packs may be exchanged for balance. With 1, every step is a random draw
  // of packs. With more, packs are shuffled and cut into windows of so many steps, and the packs of
  // each window are grouped by work into steps. With 0, the whole epoch is one window. Steps then
  // run in random order.
  int64_t window = 1;
  int64_t group = 1;  // consecutive packs of a rank that are alike: the sequence-parallel degree
  uint64_t seed = 0;
  int64_t epoch = 0;
  Stop stop = {};
};

// Returns the order, steps x ranks x packs_per_rank, row by row: a pack's index, or -1 if there is
// none. Every pack appears once. Only the last step may contain -1: its packs are spread so that no
// rank gets a second pack before all ranks have one. Within a rank and step, the packs of least
// work are at the ends.
std::vector<int64_t> Deal(std::span<const PackWork> work, const DealRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_DEAL_H_
