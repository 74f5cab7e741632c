// Which shares of an optimizer a trainer can keep and update in host memory.
#ifndef EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_
#define EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_

#include <array>
#include <cstdint>
#include <utility>

namespace evenkeel::planner {

enum class OffloadShares { kNone, kWhole, kAny };  // kWhole: all or nothing

struct OffloadAbility {
  std::array<OffloadShares, 4> by_stage = {};  // by ZeroStage
  // Copies and updates of different weights run at the same time. If false, one follows the other.
  bool overlaps = false;
  bool weights = false;  // with weights and gradients, where weights are sharded
};

// Modules of a language layer whose inputs can wait in host memory: Megatron-Core's
// --offload-modules. A set of them is an OffloadModules.
enum OffloadModule : uint32_t {
  kOffloadAttentionNorm = 1,        // "attn_norm", a module of its own with latent attention
  kOffloadQkv = 2,                  // "qkv_linear", with the norm that is fused to it
  kOffloadCoreAttention = 4,        // "core_attn": queries, keys and values
  kOffloadAttentionProjection = 8,  // "attn_proj": attention's output; needs kOffloadCoreAttention
  kOffloadMlpNorm = 16,             // "mlp_norm", before experts
  kOffloadExpertFc1 = 32,           // "expert_fc1"
  kOffloadMoeActivation = 64        // "moe_act"
};
using OffloadModules = uint32_t;
inline constexpr OffloadModules kAllOffloadModules = 127;

inline constexpr std::pair<const char*, OffloadModule> kOffloadModuleNames[] = {
    {"attn_norm", kOffloadAttentionNorm}, {"qkv_linear", kOffloadQkv},
    {"core_attn", kOffloadCoreAttention}, {"attn_proj", kOffloadAttentionProjection},
    {"mlp_norm", kOffloadMlpNorm},        {"expert_fc1", kOffloadExpertFc1},
    {"moe_act", kOffloadMoeActivation}};

// A tensor with fewer values stays on the GPU (min_offloaded_tensor_size).
inline constexpr double kLeastOffloadedValues = 1 << 20;

// Which language layers a trainer can send to host memory with their activations. The default is
// none.
struct ActivationAbility {
  bool kept = false;        // all that layers keep, where nothing is recomputed
  bool inputs = false;      // inputs of layers, where every layer is recomputed whole
  bool any_count = false;   // any number of layers; if false, all or none
  bool all_layers = false;  // all layers; if false, at least one stays
  bool pipeline = false;    // with several stages
  bool experts = false;     // of models that have layers with experts
  // Modules that it can offload instead, of every layer, with a pipeline and experts.
  OffloadModules modules = 0;
  bool offloads() const { return kept || inputs; }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_OFFLOAD_H_
