// The stages of a plan.
#ifndef EVENKEEL_PLANNER_PLAN_STAGES_H_
#define EVENKEEL_PLANNER_PLAN_STAGES_H_

#include <cstdint>
#include <vector>

#include "planner/cost/memory_parts.h"
#include "planner/model/layer_kind.h"
#include "planner/model/recompute_parts.h"

namespace evenkeel::planner {

// A run of equal layers of one chunk on one stage. The first layers of the run recompute as the
// first entry of `recomputed` says, and so on; the remaining layers recompute nothing.
struct LayerGroup {
  LayerKind kind = LayerKind::kDense;
  // Index among the layers of the component (an encoder or the language model).
  int64_t first = 0;
  int64_t count = 0;
  std::vector<RecomputedLayers> recomputed;
  int64_t chunk = 0;    // index among the stage's virtual stages
  int64_t encoder = 0;  // index of the encoder; 0 for the language model
  int64_t recomputed_count() const {
    int64_t layers = 0;
    for (const RecomputedLayers& r : recomputed) layers += r.count;
    return layers;
  }
};

struct StagePlan {
  std::vector<LayerGroup> layers;
  int64_t forward_ns = 0;    // one mean pack, tensor-parallel communication included
  int64_t backward_ns = 0;   // one mean pack, without recompute
  int64_t recompute_ns = 0;  // forward passes repeated in the backward pass
  // p2p of one pack to the next stage, one way, over all chunks; 0 after the last stage.
  int64_t send_ns = 0;
  int64_t send_bytes = 0;
  // Micro-batches whose activations are held at once, counted once per chunk.
  int64_t in_flight = 0;
  int64_t parameters = 0;                  // on one GPU of the stage
  int64_t offloaded_bytes = 0;             // of one GPU's optimizer, in host memory
  int64_t offloaded_activation_bytes = 0;  // of one GPU, in host memory
  int64_t all_offloaded_bytes() const { return offloaded_bytes + offloaded_activation_bytes; }
  MemoryParts memory;
  int64_t capacity_bytes = 0;  // of one GPU, less the bytes to keep free
  int64_t free_bytes() const { return capacity_bytes - memory.total(); }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_STAGES_H_
