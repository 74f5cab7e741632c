#include "planner/cost/made_gradients.h"

#include <algorithm>
#include <utility>

#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

enum class GradientsMade { kBefore, kInTheirPool, kByEqualLayers, kByAnyLayers };

bool IsLanguageLayer(LayerKind kind) {
  return IsTransformerLayer(kind) && kind != LayerKind::kEncoder;
}

// Returns the most bytes that a layer keeps and needs while it runs backward. Modes hardly differ
// in it, because the tensors that recompute drops exist again.
int64_t MostHeld(const LayerCost& layer) {
  int64_t most = 0;
  for (const RecomputeMode& mode : layer.modes)
    most = std::max(most, mode.kept_bytes + mode.workspace_bytes);
  return most;
}

bool IsFront(const LayerCost& layer) {
  return !IsTransformerLayer(layer.kind) && layer.kind != LayerKind::kHead;
}

// Returns the bytes kept by the layers in front of the transformer layers that run backward.
int64_t FrontKept(const LayerProfile& profile) {
  int64_t bytes = 0;
  for (const LayerCost& layer : profile.classes) {
    if (IsFront(layer)) bytes += layer.modes.front().kept_bytes;
  }
  return bytes;
}

// Returns the gradient that exists before the last transformer layer runs backward: the head's.
// That of a tied table waits for the embedding's part.
int64_t FirstGradient(const Job& job, const LayerProfile& profile) {
  const LayerKind kind =
      job.model.language_model.tied_embeddings ? LayerKind::kTokenEmbedding : LayerKind::kHead;
  int64_t bytes = 0;
  for (const LayerCost& layer : profile.classes)
    if (layer.kind == kind) bytes = std::max(bytes, layer.gradient_bytes);
  return bytes;
}

// Returns whether the layer is a table whose gradient the head, on the same stage, makes first.
bool IsMadeAtHead(const Job& job, int64_t stages, const LayerCost& layer) {
  return stages == 1 && job.model.language_model.tied_embeddings &&
         layer.kind == LayerKind::kTokenEmbedding;
}

void MakeByEqualLayers(const Job& job, int64_t stages, LayerProfile* profile) {
  // The head is on the only stage with all other layers, or on the last one: there its gradient
  // counts all the time.
  const int64_t first = stages == 1 ? FirstGradient(job, *profile) : 0;
  const int64_t front = FrontKept(*profile);
  for (LayerCost& layer : profile->classes) {
    if (layer.kind == LayerKind::kHead && stages > 1) continue;
    const int64_t gradient = std::exchange(layer.gradient_bytes, 0);
    layer.made_bytes = gradient;
    if (layer.kind == LayerKind::kHead) continue;
    // The gradients of the layer itself are made while it runs backward. That of a tied table
    // exists from the head on; where it is written again, `table` says so.
    const bool there = IsMadeAtHead(job, stages, layer) && layer.end_workspace_bytes == 0;
    int64_t held = MostHeld(layer) - (there ? 0 : gradient);
    if (IsLanguageLayer(layer.kind)) {
      for (RecomputeMode& mode : layer.modes)
        mode.workspace_bytes = std::min(mode.workspace_bytes + first, kWorkspaceBytesAtMost);
    } else {
      // When this layer runs backward, only the layers in front of it still keep activations.
      const int64_t kept = layer.modes.front().kept_bytes;
      layer.made_bytes += kept;
      held -= kept;
      layer.modes.front().workspace_bytes = profile->buffer_bytes;
    }
    const int64_t table = layer.end_workspace_bytes - gradient - front;
    layer.end_workspace_bytes = std::max({held, table, profile->buffer_bytes});
  }
}

// Language layers run backward first. The gradients of others, such as the embedding, are not there
// yet, and only count together with the workspace of layers that follow.
void MakeByAnyLayers(const Job& job, int64_t stages, LayerProfile* profile) {
  const int64_t first = stages == 1 ? FirstGradient(job, *profile) : 0;
  const int64_t front = FrontKept(*profile);
  const auto excess = [&](const LayerCost& layer, const RecomputeMode& mode) {
    if (IsMadeAtHead(job, stages, layer)) return int64_t{0};  // in `first`
    return std::max<int64_t>(0, layer.gradient_bytes - mode.kept_bytes);
  };
  int64_t of_front = 0;  // of all stages
  for (int64_t i = 0; i < profile->size(); ++i)
    if (IsFront(profile->at(i))) of_front += excess(profile->at(i), profile->at(i).modes.front());
  for (LayerCost& layer : profile->classes) {
    const bool head = layer.kind == LayerKind::kHead;
    if (head && stages > 1) continue;
    layer.made_bytes = layer.gradient_bytes;
    // Encoders may still keep theirs when the embedding runs backward.
    const int64_t end = std::exchange(layer.end_workspace_bytes, 0);
    const int64_t tables = end > 0 ? end - front - layer.modes.front().workspace_bytes : 0;
    const int64_t beside =
        head ? 0 : std::max(first, tables) + (IsLanguageLayer(layer.kind) ? 0 : of_front);
    for (RecomputeMode& mode : layer.modes) {
      int64_t workspace = mode.workspace_bytes;
      if (IsTransformerLayer(layer.kind)) {
        mode.gradient_excess_bytes = excess(layer, mode);
        mode.kept_bytes += mode.gradient_excess_bytes;
        // While the layer itself runs backward, its gradients are not there yet.
        workspace = std::max(workspace - mode.gradient_excess_bytes, profile->buffer_bytes);
      }
      mode.workspace_bytes = std::min(workspace + beside, kWorkspaceBytesAtMost);
    }
    layer.gradient_bytes = 0;
  }
}

void AddTableGradients(const Job& job, int64_t stages, LayerProfile* profile) {
  if (!job.model.language_model.tied_embeddings || stages > 1 ||
      job.training.execution.fused_weight_gradients)
    return;
  const int64_t front = FrontKept(*profile);
  for (LayerCost& layer : profile->classes) {
    if (layer.kind != LayerKind::kTokenEmbedding || !layer.trains) continue;
    int64_t tables = 3 * kWeightBytes * layer.trained_parameters;
    // The workspace of ZeRO-3 counts one of them, and the weights of a next layer, which the
    // embedding does not have.
    if (job.training.zero_stage == ZeroStage::kWeights)
      tables -= kWeightBytes * (layer.trained_parameters + layer.parameters);
    layer.end_workspace_bytes = front + layer.modes.front().workspace_bytes + tables;
  }
}

// Adds the gradients that ranks accumulate before they reduce them. Where gradients are freed after
// a step, each layer's shard takes the place of its whole gradient, and is not there before. A
// fused step has one micro-batch.
void AddWholeGradients(const Training& training, int64_t micro_batches, LayerProfile* profile) {
  if (!training.execution.accumulates_whole_gradients || micro_batches == 1 ||
      training.fused_step || training.zero_stage < ZeroStage::kGradients)
    return;
  const int64_t bytes = WholeGradientBytes(training.execution);
  for (LayerCost& layer : profile->classes) {
    if (!layer.trains) continue;
    const int64_t shard = training.execution.frees_gradients ? 0 : layer.gradient_bytes;
    layer.gradient_bytes = shard + bytes * layer.trained_parameters;
  }
}

GradientsMade GradientsMadeBy(const Job& job, const LayerProfile& profile,
                              const Parallelism& parallelism, int64_t micro_batches, bool ordered) {
  const Training& training = job.training;
  if (!training.execution.frees_gradients || micro_batches != 1) return GradientsMade::kBefore;
  // Some jobs hold none on the GPU anyway.
  if (training.fused_step || training.offload.weights) return GradientsMade::kBefore;
  // Packing groups are chosen before it is known how many micro-batches their steps have.
  if (training.group_selection != GroupSelection::kOne) return GradientsMade::kBefore;
  // Gradients of the later chunk are there while the earlier one still keeps all.
  if (parallelism.virtual_stages > 1) return GradientsMade::kBefore;
  if (training.execution.pools_gradients && WeightCopies(parallelism) > 1)
    return GradientsMade::kInTheirPool;
  // The front layers of each chunk recompute. So while equal layers of one chunk run backward, what
  // is held falls and then grows, and is most at one end. Layers of two classes can hold more in
  // between.
  const auto run_backward = [](const LayerCost& layer) {
    return IsTransformerLayer(layer.kind) && layer.has_backward;
  };
  const bool equal =
      ordered && std::count_if(profile.classes.begin(), profile.classes.end(), run_backward) == 1 &&
      std::none_of(profile.classes.begin(), profile.classes.end(), [&](const LayerCost& layer) {
        return layer.kind == LayerKind::kEncoder && run_backward(layer);
      });
  if (equal) return GradientsMade::kByEqualLayers;
  // Bytes that offload moves are shares of what a layer keeps.
  return training.activations.any() ? GradientsMade::kBefore : GradientsMade::kByAnyLayers;
}

}  // namespace

void SetGradients(const Job& job, const Parallelism& parallelism, int64_t micro_batches,
                  bool ordered, LayerProfile* profile) {
  AddTableGradients(job, parallelism.pipeline, profile);
  AddWholeGradients(job.training, micro_batches, profile);
  switch (GradientsMadeBy(job, *profile, parallelism, micro_batches, ordered)) {
    case GradientsMade::kBefore:
      break;
    case GradientsMade::kInTheirPool:
      profile->pools_gradients = true;
      break;
    case GradientsMade::kByEqualLayers:
      return MakeByEqualLayers(job, parallelism.pipeline, profile);
    case GradientsMade::kByAnyLayers:
      return MakeByAnyLayers(job, parallelism.pipeline, profile);
  }
}

}  // namespace evenkeel::planner
