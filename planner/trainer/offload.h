// Which shares of an optimizer a trainer can keep and update in host memory.
#ifndef EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_
#define EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_

#include <array>

namespace evenkeel::planner {

enum class OffloadShares { kNone, kWhole, kAny };  // kWhole: all or nothing

struct OffloadAbility {
  std::array<OffloadShares, 4> by_stage = {};  // by ZeroStage
  // Copies and updates of different weights run at the same time. If false, one follows the other.
  bool overlaps = false;
  bool weights = false;  // with weights and gradients, where weights are sharded
};

// Which language layers a trainer can send to host memory with their activations. The default is
// none.
struct ActivationAbility {
  bool kept = false;        // all that layers keep, where nothing is recomputed
  bool inputs = false;      // inputs of layers, where every layer is recomputed whole
  bool any_count = false;   // any number of layers; if false, all or none
  bool all_layers = false;  // all layers; if false, at least one stays
  bool pipeline = false;    // with several stages
  bool experts = false;     // of models that have layers with experts
  bool offloads() const { return kept || inputs; }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_
