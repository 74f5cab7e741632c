#include "planner/check/backward_walk.h"

#include <algorithm>
#include <set>

#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

bool OfDecoder(const LayerCost& layer) {
  return layer.kind == LayerKind::kDense || layer.kind == LayerKind::kMoe;
}

bool OfFront(const LayerCost& layer) {
  return layer.kind != LayerKind::kHead && !IsTransformerLayer(layer.kind);
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
  if (training.execution.pools_gradients && parallelism.data * parallelism.context > 1) {
    gradients_ = Gradients::kPooled;
    return;
  }
  gradients_ = training.activations.any() ? Gradients::kHeld : Gradients::kOfAnyLayers;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    if (OfFront(layer) && !CountsAtHead(layer))
      front_made_ += std::max<int64_t>(0, layer.gradient_bytes - layer.modes.front().kept_bytes);
  }
  std::set<const LayerCost*> decoder;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    if (!layer.has_backward) continue;
    if (layer.kind == LayerKind::kEncoder) return;
    if (OfDecoder(layer)) decoder.insert(&layer);
  }
  if (decoder.size() == 1) gradients_ = Gradients::kOfEqualLayers;
}

WalkedBytes BackwardWalk::Bytes(const std::vector<WalkedLayer>& layers, int64_t activations) const {
  switch (gradients_) {
    case Gradients::kHeld:
    case Gradients::kPooled:
      break;
    case Gradients::kOfEqualLayers:
      return OfEqualLayers(layers);
    case Gradients::kOfAnyLayers:
      return OfAnyLayers(layers);
  }
  return Held(layers, activations);
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
  const int64_t at_loss = activations + bytes.transient, end = std::max(update, last);
  if (gradients_ == Gradients::kPooled) {
    const int64_t all = bytes.gradients;
    bytes.pooled = all + std::max(at_loss, end) - std::max(at_loss, all + end);
    bytes.gradients -= bytes.pooled;
  }
  bytes.held = bytes.gradients;
  // No activations are left at the end.
  bytes.transient = std::max(bytes.transient, end - activations);
  bytes.most = activations + bytes.transient;
  return bytes;
}

// Returns whether the layer's gradients exist from the head's backward pass on.
bool BackwardWalk::CountsAtHead(const LayerCost& layer) const {
  return alone_ && layer.kind == (tied_ ? LayerKind::kTokenEmbedding : LayerKind::kHead);
}

int64_t BackwardWalk::GradientAtHead(const std::vector<WalkedLayer>& layers) const {
  for (const auto& [layer, mode] : layers)
    if (CountsAtHead(*layer)) return layer->gradient_bytes;
  return 0;
}

// Returns the most bytes held while the stage runs backward. At each layer, the tensors of the
// layers after it are freed, and their gradients exist.
int64_t BackwardWalk::Most(const std::vector<WalkedLayer>& layers) const {
  int64_t kept = 0, front = 0, behind = 0, most = 0;
  for (const auto& [layer, mode] : layers) {
    kept += mode->kept_bytes;
    if (OfFront(*layer)) front += mode->kept_bytes;
  }
  const int64_t at_head = GradientAtHead(layers);
  for (size_t i = layers.size(); i-- > 0;) {
    const auto& [layer, mode] = layers[i];
    // Tied tables count with the layers in front, and with the head's gradient.
    most = std::max(most, layer->end_workspace_bytes > 0
                              ? kept - front + behind - at_head + layer->end_workspace_bytes
                              : kept + behind + mode->workspace_bytes);
    kept -= mode->kept_bytes;
    if (layer->kind == LayerKind::kHead) {
      behind += at_head;
    } else if (!CountsAtHead(*layer)) {
      behind += layer->gradient_bytes;
    }
  }
  return most;
}

WalkedBytes BackwardWalk::OfEqualLayers(const std::vector<WalkedLayer>& layers) const {
  int64_t kept = 0, front = 0, made = 0, update = 0;
  WalkedBytes bytes;
  for (const auto& [layer, mode] : layers) {
    const bool head = layer->kind == LayerKind::kHead;
    kept += mode->kept_bytes;
    if (OfFront(*layer)) front += mode->kept_bytes;
    if (head && !alone_)
      bytes.held = layer->gradient_bytes;
    else
      made += layer->gradient_bytes;
    update += layer->update_bytes;
  }
  const int64_t at_head = GradientAtHead(layers);
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
      // The gradient of a tied table exists from the head's backward pass on. Writing it again is
      // counted below.
      const bool there = CountsAtHead(*layer) && layer->end_workspace_bytes == 0;
      last = std::max(last, mode->workspace_bytes - (there ? 0 : layer->gradient_bytes));
    }
    last = std::max(last, layer->end_workspace_bytes - layer->gradient_bytes - front);
    bytes.transient = std::max(bytes.transient, workspace);
  }
  const int64_t end = made + front + std::max(update, last);
  bytes.gradients = bytes.held + std::max<int64_t>(0, end - kept - bytes.transient);
  bytes.most = std::max(made + update, Most(layers));
  return bytes;
}

WalkedBytes BackwardWalk::OfAnyLayers(const std::vector<WalkedLayer>& layers) const {
  int64_t front = 0, update = 0, kept = 0, instead = 0, made = 0;
  WalkedBytes bytes;
  for (const auto& [layer, mode] : layers) {
    kept += mode->kept_bytes, update += layer->update_bytes;
    const bool held = layer->kind == LayerKind::kHead && !alone_;
    (held ? bytes.held : made) += layer->gradient_bytes;
    if (OfFront(*layer)) {
      front += mode->kept_bytes;
    } else if (layer->kind != LayerKind::kHead) {
      instead += std::max<int64_t>(0, layer->gradient_bytes - mode->kept_bytes);
    }
  }
  const int64_t at_head = GradientAtHead(layers);
  for (const auto& [layer, mode] : layers) {
    int64_t beside = 0;
    if (layer->kind != LayerKind::kHead) beside = at_head;
    if (layer->end_workspace_bytes > 0)
      beside = std::max(beside, layer->end_workspace_bytes - front - mode->workspace_bytes);
    if (OfFront(*layer) || layer->kind == LayerKind::kEncoder) beside += front_made_;
    // Its own gradients are not there yet.
    int64_t workspace = mode->workspace_bytes;
    if (!OfFront(*layer) && layer->kind != LayerKind::kHead)
      workspace = std::min(
          workspace, std::max(buffer_bytes_, workspace + mode->kept_bytes - layer->gradient_bytes));
    bytes.transient =
        std::max(bytes.transient, std::min(workspace + beside, kWorkspaceBytesAtMost));
  }
  const int64_t end = made + update;
  bytes.gradients =
      bytes.held + instead + std::max<int64_t>(0, end - kept - instead - bytes.transient);
  bytes.most = std::max(end, Most(layers));
  return bytes;
}

}  // namespace evenkeel::planner
