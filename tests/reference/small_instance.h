// Chains of invented layers, small enough to try everything.
#ifndef EVENKEEL_TESTS_REFERENCE_SMALL_INSTANCE_H_
#define EVENKEEL_TESTS_REFERENCE_SMALL_INSTANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/hardware/gpus.h"
#include "planner/job.h"

namespace evenkeel::planner::reference {

// Part of a layer that can run again: its time, what is kept, and the workspace.
struct SmallMode {
  int64_t time = 0, kept = 0, workspace = 0;
};

// Costs of one kind of layer that a test varies. Times are in units of 10 us, so that they weigh as
// much as the p2p latency; memory is in bytes.
struct SmallLayer {
  int64_t forward = 1, backward = 2;
  int64_t weights = 1, activation = 2, checkpoint = 1, workspace = 0;
  int64_t output_bytes = 0;
  bool recomputable = true;
  std::vector<SmallMode> parts = {};  // between nothing and all of the layer
};

inline LayerCost ToLayerCost(LayerKind kind, const SmallLayer& small) {
  constexpr int64_t kTick = 10'000;  // ns
  LayerCost layer{.kind = kind};
  layer.forward_ns = small.forward * kTick;
  layer.backward_ns = small.backward * kTick;
  layer.weight_bytes = small.weights;
  layer.gradient_bytes = 2 * small.weights;
  layer.parameters = layer.trained_parameters = small.weights;
  layer.modes.front().kept_bytes = small.activation;
  layer.modes.front().workspace_bytes = small.workspace;
  if (small.recomputable && IsTransformerLayer(kind)) {
    for (const SmallMode& part : small.parts) {
      layer.modes.push_back({.parts = kNorms,
                             .repeated_ns = part.time * kTick,
                             .kept_bytes = part.kept,
                             .workspace_bytes = part.workspace});
    }
    // The whole layer is held again while it runs backward.
    layer.modes.push_back({.parts = kWholeLayer,
                           .repeated_ns = layer.forward_ns,
                           .kept_bytes = small.checkpoint,
                           .workspace_bytes = small.workspace + small.activation});
  }
  layer.mean_output_bytes = layer.output_bytes = small.output_bytes;
  return layer;
}

// Returns the dense and MoE letters of a chain: in two runs, or in any order.
template <typename Below>  // a random number from 0 to its argument, exclusive
std::string LanguageLetters(int64_t dense, int64_t moe, const Below& below) {
  std::string letters(static_cast<size_t>(dense), 'd');
  letters += std::string(static_cast<size_t>(moe), 'm');
  if (below(2) == 0) return letters;
  for (size_t i = letters.size(); i > 1; --i)
    std::swap(letters[i - 1], letters[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  return letters;
}

// Makes one layer per letter: P patch embedding, e encoder, j projector, t token embedding, d
// dense, m MoE, H head. Kinds come in the order of their first letter; `costs` has one entry per
// kind.
inline LayerProfile MakeProfile(const std::string& chain, const std::vector<SmallLayer>& costs) {
  static const std::string kLetters = "PejtdmH";
  LayerProfile profile;
  for (const char letter : chain) {
    const LayerKind kind = static_cast<LayerKind>(kLetters.find(letter));
    int index = 0;
    while (index < static_cast<int>(profile.classes.size()) &&
           profile.classes[static_cast<size_t>(index)].kind != kind)
      ++index;
    if (index == static_cast<int>(profile.classes.size()))
      profile.classes.push_back(
          ToLayerCost(kind, costs[static_cast<size_t>(index) % costs.size()]));
    profile.chain.push_back(index);
    if (IsTransformerLayer(kind)) ++profile.transformer_layers;
  }
  return profile;
}

// Makes a job whose GPUs have `spare_bytes` beyond what the framework takes, for layers and
// reserve.
inline Job MakeJob(int64_t spare_bytes, RecomputePolicy policy) {
  Job job;
  job.cluster.gpu.name = "made-up";
  job.cluster.gpu.dense_16bit_flops = 1e14;
  job.cluster.gpu.hbm_bytes_per_second = 1e12;
  job.cluster.gpu.memory_bytes = int64_t{100} << 30;
  job.cluster.gpu.costs = CostsLike(job.cluster.gpu, nullptr);
  job.cluster.reserved_bytes = (int64_t{99} << 30) - (int64_t{2} << 30) - spare_bytes;
  job.cluster.gpus_per_node = 2;
  job.cluster.intra_node_bytes_per_second = 1e11;
  job.cluster.inter_node_bytes_per_second = 1e10;
  job.constraints.recompute = policy;
  return job;
}

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_SMALL_INSTANCE_H_
