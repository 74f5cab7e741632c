// The parameters by which packs are dealt.
#ifndef EVENKEEL_PLANNER_PACKING_DEAL_RULE_H_
#define EVENKEEL_PLANNER_PACKING_DEAL_RULE_H_

#include <cstdint>

#include "planner/base/stop.h"

namespace evenkeel::planner {

// Time of one pack in each part. The values are integers from 0 to below 2^30, so that decisions do
// not depend on rounding.
struct PackWork {
  int32_t vision = 0;
  int32_t language = 0;
};

struct DealRule {
  int64_t ranks = 1;           // data parallel
  int64_t packs_per_rank = 1;  // per step: micro-batches; a multiple of `group`
  // Number of steps whose packs may be exchanged for balance. With 1, every step is a random draw
  // of packs. With more, packs are shuffled and cut into windows of this many steps, and the packs
  // of each window are grouped by work into steps. With 0, the whole epoch is one window. Steps
  // then run in random order.
  int64_t window = 1;
  int64_t group = 1;  // consecutive packs of a rank that are alike: the sequence-parallel degree
  uint64_t seed = 0;
  int64_t epoch = 0;
  Stop stop = {};
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_DEAL_RULE_H_
