// The table that every search reads: the model as a chain of layers with the time, memory and
// traffic of each, on one GPU under a tensor-parallel degree. Equations: docs/COST_MODEL.md,
// sections 1 to 4.
#ifndef EVENKEEL_PLANNER_COST_LAYER_PROFILE_H_
#define EVENKEEL_PLANNER_COST_LAYER_PROFILE_H_

#include <cstdint>
#include <vector>

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// What costs of a pack depend on.
struct PackShape {
  double units = 0;
  double tokens = 0;
  double squared = 0;  // sum of squared sample lengths, tokens^2
};

// constant + per_unit * units + per_token * tokens + per_squared * squared, in ns or FLOPs.
struct PackCost {
  double constant = 0, per_unit = 0, per_token = 0, per_squared = 0;
  double at(const PackShape& s) const {
    return constant + per_unit * s.units + per_token * s.tokens + per_squared * s.squared;
  }
  PackCost& operator+=(const PackCost& o) {
    constant += o.constant, per_unit += o.per_unit, per_token += o.per_token,
        per_squared += o.per_squared;
    return *this;
  }
  friend PackCost operator*(double f, const PackCost& c) {
    return {f * c.constant, f * c.per_unit, f * c.per_token, f * c.per_squared};
  }
};

// One way to run a layer: what of it is repeated in the backward pass, what that costs, and what it
// saves.
struct RecomputeMode {
  RecomputeParts parts = 0;
  PackCost repeated, repeated_communication;  // forward work that the backward pass repeats, ns
  int64_t repeated_ns = 0;                    // both, of the mean pack
  // At the largest pack that the caps allow.
  int64_t kept_bytes = 0;       // per pack, from forward to backward
  int64_t workspace_bytes = 0;  // largest transient while the layer runs backward
};

// More than any layer has.
inline constexpr size_t kModesAtMost = 8;

// One kind of layer of one component. Times in ns, memory in bytes, both of one GPU.
struct LayerCost {
  LayerKind kind = LayerKind::kDense;
  bool trains = true;        // has weight gradients
  bool has_backward = true;  // it, or something before it, trains

  PackCost forward, backward;  // compute alone
  PackCost weight_gradient;    // part of `backward` that nothing waits for (zero-bubble schedules)
  // Tensor, context and expert parallel; with ZeRO-3 what gathering of weights compute does not
  // hide.
  PackCost forward_communication, backward_communication;
  PackCost forward_flops;           // of the model, all tensor-parallel ranks together
  double backward_flops_ratio = 2;  // backward over forward

  // At the mean pack, communication included: what searches add up.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t weight_gradient_ns = 0;  // of backward_ns

  // On this GPU. Gradients and weights to synchronise are those of `trained_parameters`; of these,
  // routed experts' are copied on fewer ranks: tensor x context x data / (expert x expert_tensor).
  int64_t parameters = 0;
  int64_t trained_parameters = 0;
  int64_t trained_expert_parameters = 0;
  int64_t weight_bytes = 0;
  int64_t gradient_bytes = 0;
  int64_t optimizer_bytes = 0;

  // modes[0] recomputes nothing; of a recomputable layer the last recomputes all of it. Those
  // between take longer and keep less from one to the next.
  std::vector<RecomputeMode> modes = {RecomputeMode{}};

  int64_t logits_bytes = 0;  // of the head's workspace: logits, their softmax and gradient

  int64_t output_bytes = 0;  // what crosses to the next layer, at the largest pack

  int64_t mean_output_bytes = 0;  // likewise for the mean pack

  bool recomputable() const { return modes.size() > 1; }
  int64_t static_bytes() const { return weight_bytes + gradient_bytes + optimizer_bytes; }
};

struct LayerProfile {
  std::vector<LayerCost> kinds;
  std::vector<int> chain;  // the model front to back; values index `kinds`
  int64_t transformer_layers = 0;
  // Part of every workspace: send and receive buffers of the pipeline, workspaces of libraries.
  int64_t buffer_bytes = 0;

  const LayerCost& at(int64_t position) const {
    return kinds[static_cast<size_t>(chain[static_cast<size_t>(position)])];
  }
  int64_t size() const { return static_cast<int64_t>(chain.size()); }
};

// `mean` is the pack whose time is optimised, `largest` the one that must fit in memory. `data` and
// `context` divide what the job's ZeroStage shards; `pipeline` matters for tied embeddings (with
// one stage, head and embedding share) and with `virtual_stages` for buffers. A layer's modes are
// the sets of parts on the lower convex hull of (repeated time, kept bytes): mixing two of them
// over layers is as good as any other set, to within one layer. `also` names sets that are kept
// besides, for plans that somebody wrote; a mode so added may take longer and keep more than its
// neighbour.
LayerProfile BuildLayerProfile(const Job& job, const Parallelism& parallelism,
                               const PackShape& mean, const PackShape& largest,
                               const std::vector<RecomputeParts>& also = {});

// Whether the model can be split over so many tensor-parallel ranks. Encoder heads are padded where
// they do not divide.
bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_LAYER_PROFILE_H_
