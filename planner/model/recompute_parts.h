// The parts of a layer that the backward pass can recompute.
#ifndef EVENKEEL_PLANNER_MODEL_RECOMPUTE_PARTS_H_
#define EVENKEEL_PLANNER_MODEL_RECOMPUTE_PARTS_H_

#include <cstdint>

namespace evenkeel::planner {

// Parts of a transformer layer that can run forward again in the backward pass. A set of them is a
// RecomputeParts; 0 is the empty set. The names are those of Megatron's --recompute-modules, if it
// has the part.
enum RecomputePart : uint32_t {
  kNorms = 1,              // "layernorm"
  kCoreAttention = 2,      // "core_attn": scores, softmax and their product with the values
  kActivation = 4,         // "moe_act": the function between the MLP's products
  kMlp = 8,                // "mlp" or "moe": the whole MLP with its norm
  kWholeLayer = 16,        // --recompute-granularity full
  kLatentProjection = 32,  // "mla_up_proj": from the latents of MLA to queries, keys and values
  // Everything but attention, exchanges and every other product, beginning with the first
  // (torchtitan's SelectiveAC). It is never combined with other parts.
  kAlternateProducts = 64
};
using RecomputeParts = uint32_t;

struct RecomputedLayers {
  RecomputeParts parts = kWholeLayer;
  int64_t count = 0;
  friend bool operator==(const RecomputedLayers&, const RecomputedLayers&) = default;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_RECOMPUTE_PARTS_H_
