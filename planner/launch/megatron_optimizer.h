// How Megatron-LM's arguments set an optimizer.
#ifndef EVENKEEL_PLANNER_LAUNCH_MEGATRON_OPTIMIZER_H_
#define EVENKEEL_PLANNER_LAUNCH_MEGATRON_OPTIMIZER_H_

#include "planner/trainer/optimizer.h"

namespace evenkeel::planner {

struct MegatronOptimizer {
  Optimizer optimizer = Optimizer::kAdam;
  const char* name = nullptr;          // --optimizer; nullptr: its default, Adam
  const char* sharded_name = nullptr;  // the same where states are sharded
  // --use-distributed-optimizer shards its states, and overlaps what it exchanges. dist_muon
  // spreads whole matrices over the data-parallel ranks itself.
  bool distributed = true;
  const char* moments = nullptr;  // --exp-avg-dtype and --exp-avg-sq-dtype; nullptr: fp32
};

// Returns nullptr if no arguments set it.
const MegatronOptimizer* MegatronOptimizerOf(Optimizer optimizer);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_MEGATRON_OPTIMIZER_H_
