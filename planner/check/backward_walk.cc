#include "planner/check/backward_walk.h"

#include <algorithm>
#include <set>

#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

bool OfDecoder(const LayerCost& layer) {
  return layer.kind == LayerKind::kDense || layer.kind == LayerKind::kMoe;
}

}  // namespace

BackwardWalk::BackwardWalk(const Job& job, const LayerProfile& profile,
                           const Parallelism& parallelism, int64_t micro_batches)
    : tied_(job.model.language_model.tied_embeddings),
      alone_(parallelism.pipeline == 1),
      buffer_bytes_(profile.buffer_bytes) {
  const Training& training = job.training;
  const bool elsewhere = training.fused_step || training.offload.weights;
  const bool groups = training.group_selection != GroupSelection::kOne;
  const bool one_pass = micro_batches <= 1 && parallelism.virtual_stages == 1;
  if (!training.execution.frees_gradients || !one_pass || elsewhere || groups) return;
  std::set<const LayerCost*> decoder;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    if (!layer.has_backward) continue;
    if (layer.kind == LayerKind::kEncoder) return;
    if (OfDecoder(layer)) decoder.insert(&layer);
  }
  made_ = decoder.size() == 1;
}

WalkedBytes BackwardWalk::Bytes(const std::vector<WalkedLayer>& layers, int64_t activations) const {
  return made_ ? Made(layers) : Held(layers, activations);
}

WalkedBytes BackwardWalk::Held(const std::vector<WalkedLayer>& layers, int64_t activations) const {
  WalkedBytes bytes;
  int64_t update = 0, last = 0;
  for (const auto& [layer, mode] : layers) {
    bytes.gradients += layer->gradient_bytes;
    bytes.transient = std::max(bytes.transient, mode->workspace_bytes);
    update += layer->update_bytes;
    last = std::max(last, layer->end_workspace_bytes);
  }
  bytes.held = bytes.gradients;
  // No activations are left at the end.
  bytes.transient = std::max({bytes.transient, update - activations, last - activations});
  bytes.most = activations + bytes.transient;
  return bytes;
}

WalkedBytes BackwardWalk::Made(const std::vector<WalkedLayer>& layers) const {
  int64_t kept = 0, front = 0, made = 0, update = 0, at_head = 0;
  WalkedBytes bytes;
  for (const auto& [layer, mode] : layers) {
    const bool head = layer->kind == LayerKind::kHead;
    kept += mode->kept_bytes;
    if (!head && !IsTransformerLayer(layer->kind)) front += mode->kept_bytes;
    if (head && !alone_)
      bytes.held = layer->gradient_bytes;
    else
      made += layer->gradient_bytes;
    update += layer->update_bytes;
    const bool has_table = tied_ ? layer->kind == LayerKind::kTokenEmbedding : head;
    if (alone_ && has_table) at_head = layer->gradient_bytes;
  }
  int64_t last = buffer_bytes_;
  for (const auto& [layer, mode] : layers) {
    int64_t workspace = buffer_bytes_;
    if (layer->kind == LayerKind::kHead) {
      workspace = mode->workspace_bytes;
    } else if (OfDecoder(*layer)) {
      workspace = std::min(mode->workspace_bytes + at_head, kWorkspaceBytesAtMost);
      for (const RecomputeMode& any : layer->modes)
        last = std::max(last, any.kept_bytes + any.workspace_bytes - layer->gradient_bytes);
    } else {
      last = std::max(last, mode->workspace_bytes - layer->gradient_bytes);
    }
    last = std::max(last, layer->end_workspace_bytes - layer->gradient_bytes - front);
    bytes.transient = std::max(bytes.transient, workspace);
  }
  const int64_t end = made + front + std::max(update, last);
  bytes.gradients = bytes.held + std::max<int64_t>(0, end - kept - bytes.transient);
  // The pass itself: what is behind a layer is freed, and its gradients are there.
  bytes.most = made + update;
  int64_t behind = 0;
  for (size_t i = layers.size(); i-- > 0;) {
    const auto& [layer, mode] = layers[i];
    bytes.most = std::max(bytes.most, kept + behind + mode->workspace_bytes);
    kept -= mode->kept_bytes;
    if (layer->kind == LayerKind::kHead) {
      behind += at_head;
    } else if (!(alone_ && tied_ && layer->kind == LayerKind::kTokenEmbedding)) {
      behind += layer->gradient_bytes;
    }
  }
  return bytes;
}

}  // namespace evenkeel::planner
