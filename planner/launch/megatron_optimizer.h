// How Megatron-LM's arguments set an optimizer.
#ifndef EVENKEEL_PLANNER_LAUNCH_MEGATRON_OPTIMIZER_H_
#define EVENKEEL_PLANNER_LAUNCH_MEGATRON_OPTIMIZER_H_

#include "planner/job.h"
#include "planner/trainer/optimizer.h"

namespace evenkeel::planner {

struct MegatronOptimizer {
  Optimizer optimizer = Optimizer::kAdam;
  const char* name = nullptr;          // --optimizer; nullptr: its default, Adam
  const char* sharded_name = nullptr;  // --optimizer if states are sharded
  // --use-distributed-optimizer shards its states, and overlaps what it exchanges. dist_muon
  // spreads whole matrices over the data-parallel ranks itself.
  bool distributed = true;
  const char* moments = nullptr;  // --exp-avg-dtype and --exp-avg-sq-dtype; nullptr: fp32
};

// Returns nullptr if no arguments set it.
const MegatronOptimizer* MegatronOptimizerOf(Optimizer optimizer);

// Returns the optimizer that the arguments set. A note says that some plans need another.
MegatronOptimizer OptimizerSetFor(const Training& training);

// Returns whether states need --use-precision-aware-optimizer, and so the sharded optimizer.
bool IsPrecisionAware(const Training& training);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_MEGATRON_OPTIMIZER_H_
