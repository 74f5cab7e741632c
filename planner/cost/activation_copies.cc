#include "planner/cost/activation_copies.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

// Layers that hold all of their activations on the GPU at a time: the one that runs, and the one
// that is copied out after it or fetched ahead of it.
constexpr int64_t kLayersUnderWay = 2;

// Returns the part of the copies that a pass of `pass_ns` does not hide. Another pack's part is in
// proportion to its bytes.
PackCost Waiting(const PackCost& copies, double copies_ns, double pass_ns) {
  return copies_ns <= pass_ns ? PackCost{} : (1 - pass_ns / copies_ns) * copies;
}

// Adds the time that passes wait for copies of a share of LayerCost::copied, where the layer runs
// as `used` says.
void AddWaiting(const Job& job, const PackShape& mean, double share, const RecomputeMode& used,
                LayerCost& layer) {
  const PackCost copies = (1e9 * share / HostCopyRate(job.cluster)) * layer.copied;
  const double copies_ns = copies.at(mean);
  const double forward = layer.forward.at(mean) + layer.forward_communication.at(mean);
  const double again = &used == &layer.modes.front()
                           ? 0
                           : used.repeated.at(mean) + used.repeated_communication.at(mean);
  // A fused update hides no copies: both wait for memory.
  const double backward =
      layer.backward.at(mean) + layer.backward_communication.at(mean) - D(layer.update_ns) + again;
  layer.forward_communication += Waiting(copies, copies_ns, forward);
  layer.backward_communication += Waiting(copies, copies_ns, backward);
}

// Takes the share of a mode's kept bytes from the GPU. Layers under way hold `whole` bytes of it.
void Move(double share, int64_t whole, RecomputeMode& mode) {
  mode.kept_bytes -= Nearest(share * D(mode.kept_bytes));
  mode.workspace_bytes =
      std::min(mode.workspace_bytes + kLayersUnderWay * whole, kWorkspaceBytesAtMost);
}

void OffloadInputs(const Job& job, const PackShape& mean, LayerCost& layer) {
  const RecomputeMode& used = layer.modes.back();
  if (layer.copied.at(mean) > 0) AddWaiting(job, mean, 1, used, layer);
  layer.host_kept_bytes = Nearest(used.charged_share * D(used.kept_bytes));
  for (RecomputeMode& mode : layer.modes)
    Move(mode.moved_share, Nearest(mode.charged_share * D(mode.kept_bytes)), mode);
}

}  // namespace

RecomputeParts PartsBesideOffload(const Job& job) {
  const bool whole = job.constraints.recompute == RecomputePolicy::kFull;
  return whole ? RecomputeParts{kWholeLayer} : RecomputeParts{0};
}

void OffloadActivations(const Job& job, const PackShape& mean, LayerCost& layer) {
  const ActivationOffload& activations = job.training.activations;
  if (activations.modules != 0) return OffloadInputs(job, mean, layer);
  if (activations.layers == 0 || layer.copied.at(mean) <= 0) return;
  const double layers = D(job.model.language_model.layers);
  const double moved = D(activations.layers) / layers;
  const double charged = D(activations.charged_layers) / layers;
  const RecomputeMode& used =
      PartsBesideOffload(job) == 0 ? layer.modes.front() : layer.modes.back();
  AddWaiting(job, mean, charged, used, layer);
  layer.host_kept_bytes = Nearest(charged * D(used.kept_bytes));
  for (RecomputeMode& mode : layer.modes) Move(moved, mode.kept_bytes, mode);
}

}  // namespace evenkeel::planner
