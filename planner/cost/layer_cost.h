// The costs of one layer, and the model as a chain of layers with their costs.
#ifndef EVENKEEL_PLANNER_COST_LAYER_COST_H_
#define EVENKEEL_PLANNER_COST_LAYER_COST_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "planner/cost/pack_cost.h"
#include "planner/model/layer_kind.h"
#include "planner/model/recompute_parts.h"
#include "planner/model/recompute_setting.h"

namespace evenkeel::planner {

// One way to run a layer: which parts the backward pass repeats, what that costs, and how much
// memory it saves.
struct RecomputeMode {
  RecomputeParts parts = 0;
  PackCost repeated, repeated_communication;  // forward work that the backward pass repeats, ns
  int64_t repeated_ns = 0;                    // sum of both for the mean pack
  // For the largest pack that the caps allow.
  int64_t kept_bytes = 0;  // per pack, from forward to backward
  // Part of `kept_bytes` by which the layer's gradients exceed its activations (SetGradients).
  int64_t gradient_excess_bytes = 0;
  int64_t workspace_bytes = 0;  // largest transient while the layer runs backward
  // If modules are offloaded: shares of `kept_bytes` that leave the GPU, and that the host has.
  double moved_share = 0, charged_share = 0;
};

inline constexpr size_t kModesAtMost = 8;

// One class of layers: those of one component that are equal. Times in ns, memory in bytes, both of
// one GPU.
struct LayerCost {
  LayerKind kind = LayerKind::kDense;
  int64_t encoder = 0;       // index of the encoder that it belongs to; 0 for the language model
  bool trains = true;        // has weight gradients
  bool has_backward = true;  // the layer, or a layer before it, trains

  PackCost forward, backward;  // only compute
  // Part of `backward` that no other pass waits for (zero-bubble schedules).
  PackCost weight_gradient;
  // Communication of tensor, context and expert parallelism and, with ZeRO-3, the part of weight
  // gathering that compute does not hide. Backward also includes the update of the layer's weights
  // if it runs inside that pass (Training::fused_step).
  PackCost forward_communication, backward_communication;
  PackCost forward_flops;           // of the model, all tensor-parallel ranks together
  double backward_flops_ratio = 2;  // backward over forward

  // For the mean pack, communication included. The searches add these up.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t weight_gradient_ns = 0;  // part of backward_ns
  int64_t update_ns = 0;           // part of backward_ns: see backward_communication

  // Counts on one GPU. `trained_parameters` determine the gradients and weights to synchronise.
  // Those of routed experts have fewer copies: tensor x context x data / (expert x expert_tensor)
  // ranks.
  int64_t parameters = 0;
  int64_t trained_parameters = 0;
  int64_t trained_expert_parameters = 0;
  int64_t weight_bytes = 0;
  int64_t gradient_bytes = 0;
  int64_t optimizer_bytes = 0;
  int64_t offloaded_bytes = 0;  // of the optimizer's states, in host memory
  // Host memory that the rank takes for the layer: the states that a checkpoint stages, and the
  // offloaded tensors.
  int64_t host_bytes = 0;
  // If activations are offloaded: `copied` is the bytes that the layer, or its offloaded modules,
  // keep of a pack on GPU and host together; `host_kept_bytes` is the part of the largest pack's
  // bytes that is on the host.
  PackCost copied;
  int64_t host_kept_bytes = 0;
  int64_t update_bytes = 0;  // held only in the optimizer's step, after all activations are freed
  // If the backward pass makes the gradients (SetGradients): bytes of gradients that exist at the
  // end of that pass, in place of `gradient_bytes`.
  int64_t made_bytes = 0;
  // If the backward pass makes the gradients: the most that this layer's own backward pass holds in
  // addition to all layers' `made_bytes`, when no other layer keeps activations. 0 if that cannot
  // be the peak.
  int64_t end_workspace_bytes = 0;

  // modes[0] recomputes nothing, and the last mode of a recomputable layer recomputes all of it.
  // From one mode to the next, time grows and kept memory shrinks.
  std::vector<RecomputeMode> modes = {RecomputeMode{}};

  int64_t logits_bytes = 0;  // part of the head's workspace: logits, their softmax and gradient

  int64_t output_bytes = 0;  // passed to the next layer, for the largest pack

  int64_t mean_output_bytes = 0;  // passed to the next layer, for the mean pack

  bool recomputable() const { return modes.size() > 1; }
  int64_t static_bytes() const { return weight_bytes + gradient_bytes + optimizer_bytes; }
  // Returns the bytes that the layer holds at the end of the backward pass.
  int64_t states_bytes() const { return static_bytes() + made_bytes; }
};

inline constexpr size_t kLayerClassesAtMost = 16;

inline constexpr int64_t kNoHostLimit = std::numeric_limits<int64_t>::max();

struct LayerProfile {
  std::vector<LayerCost> classes;
  std::vector<int> chain;  // the model from front to back, as indices into `classes`
  int64_t transformer_layers = 0;
  // The first stage takes at least this many layers from the front (KeepsEncoderWhole).
  int64_t first_stage_layers = 0;
  // Part of every workspace: send and receive buffers of the pipeline, workspaces of libraries.
  int64_t buffer_bytes = 0;
  // If true, LayerCost::gradient_bytes are memory that the allocator reserves for gradients, which
  // do not exist at the peak (Execution::pools_gradients).
  bool pools_gradients = false;
  // Host memory that a rank's layers may take (LayerCost::host_bytes).
  int64_t host_room = kNoHostLimit;
  // The recompute of every stage under RecomputePolicy::kOneSetting. If nullopt, each stage chooses
  // among the modes.
  std::optional<RecomputeSetting> setting;

  const LayerCost& at(int64_t position) const {
    return classes[static_cast<size_t>(chain[static_cast<size_t>(position)])];
  }
  int64_t size() const { return static_cast<int64_t>(chain.size()); }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_LAYER_COST_H_
