// Computes the memory of a stage besides weights and states by walking through its layers: at the
// loss, then layer by layer backward, then at the optimizer's step.
#ifndef EVENKEEL_PLANNER_CHECK_BACKWARD_WALK_H_
#define EVENKEEL_PLANNER_CHECK_BACKWARD_WALK_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_cost.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// A layer of the stage, with the mode in which it runs. The layer is from a profile whose gradients
// are held all the time.
struct WalkedLayer {
  const LayerCost* layer = nullptr;
  const RecomputeMode* mode = nullptr;
};

struct WalkedBytes {
  int64_t gradients = 0;  // MemoryParts::gradients
  int64_t pooled = 0;     // MemoryParts::gradient_pool
  int64_t transient = 0;  // MemoryParts::workspace and buffers
  // The most bytes held at any moment, without weights, states and `held` gradients. The plan must
  // have room for them.
  int64_t most = 0;
  int64_t held = 0;  // part of `gradients` that is held all the time
};

// Walks through the backward pass of a stage.
class BackwardWalk {
 public:
  // `profile` has gradients that are held all the time.
  BackwardWalk(const Job& job, const LayerProfile& profile, const Parallelism& parallelism,
               int64_t micro_batches);

  // Returns the stage's memory. `layers` are its layers from first to last; `activations` are the
  // bytes of all packs in flight.
  WalkedBytes Bytes(const std::vector<WalkedLayer>& layers, int64_t activations) const;

 private:
  enum class Gradients { kHeld, kPooled, kOfEqualLayers, kOfAnyLayers };

  WalkedBytes Held(const std::vector<WalkedLayer>& layers, int64_t activations) const;
  WalkedBytes OfEqualLayers(const std::vector<WalkedLayer>& layers) const;
  WalkedBytes OfAnyLayers(const std::vector<WalkedLayer>& layers) const;
  int64_t Most(const std::vector<WalkedLayer>& layers) const;
  int64_t GradientAtHead(const std::vector<WalkedLayer>& layers) const;
  bool CountsAtHead(const LayerCost& layer) const;

  const bool tied_, alone_;  // the table of the head is the embedding's; there is one stage
  const int64_t buffer_bytes_;
  Gradients gradients_ = Gradients::kHeld;
  int64_t front_made_ = 0;  // gradients of layers in front, of all stages, beyond what they keep
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_BACKWARD_WALK_H_
