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

// One kind of layer of one component. Times in ns, memory in bytes, both of one GPU.
struct LayerCost {
  LayerKind kind = LayerKind::kDense;
  bool trains = true;        // has weight gradients
  bool has_backward = true;  // it, or something before it, trains
  bool recomputable = false;

  PackCost forward, backward;                              // compute alone
  PackCost forward_communication, backward_communication;  // tensor parallel
  PackCost forward_flops;           // of the model, all tensor-parallel ranks together
  double backward_flops_ratio = 2;  // backward over forward

  // At the mean pack, communication included: what searches add up.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;

  int64_t parameters = 0;
  int64_t weight_bytes = 0;
  int64_t gradient_bytes = 0;
  int64_t optimizer_bytes = 0;

  // At the largest pack that the caps allow.
  int64_t activation_bytes = 0;  // kept from forward to backward
  int64_t checkpoint_bytes = 0;  // kept instead if the layer is recomputed: its input
  int64_t workspace_bytes = 0;   // largest transient while the layer runs backward
  int64_t output_bytes = 0;      // what crosses to the next layer

  int64_t mean_output_bytes = 0;  // likewise for the mean pack

  int64_t static_bytes() const { return weight_bytes + gradient_bytes + optimizer_bytes; }
};

struct LayerProfile {
  std::vector<LayerCost> kinds;
  std::vector<int> chain;  // the model front to back; values index `kinds`
  int64_t transformer_layers = 0;

  const LayerCost& at(int64_t position) const {
    return kinds[static_cast<size_t>(chain[static_cast<size_t>(position)])];
  }
  int64_t size() const { return static_cast<int64_t>(chain.size()); }
};

// `mean` is the pack whose time is optimised, `largest` the one that must fit in memory. `data`
// divides the optimizer state where the job shards it; `pipeline` matters for tied embeddings: with
// one stage, head and embedding share.
LayerProfile BuildLayerProfile(const Job& job, const Parallelism& parallelism,
                               const PackShape& mean, const PackShape& largest);

// Whether the model can be split over so many tensor-parallel ranks. Encoder heads are padded where
// they do not divide.
bool TensorParallelAllowed(const ModelSpec& model, int64_t tensor);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_LAYER_PROFILE_H_
