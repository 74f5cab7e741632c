#include "planner/search/stage_plans.h"

#include <algorithm>
#include <utility>

#include "planner/cost/memory.h"
#include "planner/cuts/host_loads.h"
#include "planner/simulate/held_passes.h"

namespace evenkeel::planner {

std::vector<LayerGroup> LayerGroups(const LayerProfile& profile, int64_t begin, int64_t end,
                                    const ModeCounts& recomputed) {
  std::vector<LayerGroup> groups;
  std::vector<size_t> classes;  // of each group
  // Index of the first layer among the transformer layers of its component: dense and MoE layers
  // count together.
  int64_t encoder_before = 0, language_before = 0, encoder = 0;
  for (int64_t i = 0; i < end; ++i) {
    const size_t of_class = static_cast<size_t>(profile.chain[static_cast<size_t>(i)]);
    const LayerKind kind = profile.classes[of_class].kind;
    int64_t first = 0;
    if (IsTowerLayer(kind) && profile.classes[of_class].encoder != encoder)
      encoder = profile.classes[of_class].encoder, encoder_before = 0;
    if (kind == LayerKind::kEncoder) first = encoder_before++;
    if (kind == LayerKind::kDense || kind == LayerKind::kMoe) first = language_before++;
    if (i < begin) continue;
    if (!classes.empty() && classes.back() == of_class) {
      ++groups.back().count;
    } else {
      groups.push_back({.kind = kind, .first = first, .count = 1});
      groups.back().encoder = profile.classes[of_class].encoder;
      classes.push_back(of_class);
    }
  }
  // The front layers of each class recompute, those that recompute most first.
  ModeCounts left = recomputed;
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<RecomputeMode>& modes = profile.classes[classes[g]].modes;
    int64_t room = groups[g].count;
    for (size_t q = modes.size() - 1; q > 0; --q) {
      int32_t& layers = left[classes[g]][q];
      const int64_t taken = std::min<int64_t>(room, layers);
      if (taken == 0) continue;
      groups[g].recomputed.push_back({modes[q].parts, taken});
      layers -= static_cast<int32_t>(taken);
      room -= taken;
    }
  }
  return groups;
}

MemoryParts MemoryPartsOf(const LayerProfile& profile, std::span<const ChunkLoad> chunks,
                          std::span<const ModeCounts> recomputed) {
  const StageBytes memory = MemoryOf(profile, chunks, recomputed);
  MemoryParts parts;
  parts.activations = memory.kept_activation_bytes();
  parts.gradients = memory.gradient_excess_bytes;
  bool made = false;
  int64_t activations_left = parts.activations;  // keeps the sum over kinds at a capped total
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    const LayerCost& layer = profile.classes[k];
    int64_t layers = 0;
    std::vector<ChunkLoad> alone(chunks.begin(), chunks.end());
    for (ChunkLoad& chunk : alone) {
      layers += chunk.counts[k];
      ClassCounts counts{};
      counts[k] = chunk.counts[k];
      chunk.counts = counts;
    }
    parts.weights += layers * layer.weight_bytes;
    parts.gradients += layers * layer.gradient_bytes;
    made = made || (layers > 0 && layer.made_bytes > 0);
    parts.optimizer += layers * layer.optimizer_bytes;
    const StageBytes of_kind = MemoryOf(profile, alone, recomputed);
    const int64_t activations = std::min(activations_left, of_kind.kept_activation_bytes());
    parts.activations_by_kind[layer.kind] += activations;
    activations_left -= activations;
    // If the head's workspace is the largest, logits are held at the peak.
    if (layers > 0 && memory.end_bytes == 0 &&
        layer.modes.front().workspace_bytes == memory.workspace_bytes)
      parts.logits = layer.logits_bytes;
  }
  parts.buffers = profile.buffer_bytes;
  parts.workspace = memory.workspace_bytes - profile.buffer_bytes;
  // If the backward pass makes gradients, what its end takes beyond activations and workspace
  // counts as gradients; otherwise as workspace.
  (made ? parts.gradients : parts.workspace) += memory.end_bytes;
  parts.communication = CommunicationBytes();
  parts.framework = FrameworkBytes();
  parts.allocator_reserve = AllocatorReserve(memory.allocated());
  if (profile.pools_gradients) {
    // At the optimizer's step gradients are allocated.
    const int64_t at_loss = memory.activation_bytes + memory.workspace_bytes;
    const int64_t most = std::max(at_loss, parts.gradients + memory.at_end);
    parts.gradient_pool = parts.gradients + at_loss + memory.end_bytes - most;
    parts.gradients -= parts.gradient_pool;
    parts.allocator_reserve += parts.gradient_pool;
  }
  return parts;
}

MemoryParts MemoryPartsOf(const LayerProfile& profile, const ClassCounts& counts,
                          const ModeCounts& recomputed, int64_t in_flight) {
  const ChunkLoad chunk{counts, in_flight};
  return MemoryPartsOf(profile, {&chunk, 1}, {&recomputed, 1});
}

std::vector<StagePlan> StagePlans(const Job& job, const LayerProfile& profile, const Candidate& c,
                                  const Stop& stop) {
  const size_t stages = static_cast<size_t>(c.parallelism.pipeline),
               chunks = static_cast<size_t>(c.parallelism.virtual_stages);
  std::vector<StagePlan> plans;
  for (size_t s = 0; s < stages; ++s) {
    stop.Ask();
    StagePlan plan;
    std::vector<ChunkLoad> loads;
    std::vector<ModeCounts> recomputed;
    std::vector<int64_t> kept;
    for (size_t k = 0; k < chunks; ++k) {
      const size_t segment = k * stages + s;
      const SegmentWork& work = c.segments[segment];
      for (LayerGroup& group : LayerGroups(profile, c.boundaries[segment],
                                           c.boundaries[segment + 1], work.recomputed)) {
        group.chunk = static_cast<int64_t>(k);
        plan.layers.push_back(std::move(group));
      }
      plan.forward_ns += work.forward_ns;
      plan.backward_ns += work.backward_ns;
      plan.recompute_ns += work.recompute_ns;
      plan.send_ns += work.send_ns;
      plan.send_bytes += work.send_bytes;
      plan.parameters += work.parameters;
      loads.push_back({work.counts, 0});
      recomputed.push_back(work.recomputed);
      kept.push_back(MemoryOf(profile, work.counts, work.recomputed, 1).activation_bytes);
    }
    const std::vector<int64_t> held = HeldAtPeak(c.shape(), static_cast<int64_t>(s), kept);
    for (size_t k = 0; k < chunks; ++k) loads[k].in_flight = held[k];
    for (const int64_t n :
         HeldAtPeak(c.shape(), static_cast<int64_t>(s), std::vector<int64_t>(chunks, 1)))
      plan.in_flight += n;
    for (const ChunkLoad& load : loads) {
      for (size_t k = 0; k < profile.classes.size(); ++k)
        plan.offloaded_bytes += load.counts[k] * profile.classes[k].offloaded_bytes;
    }
    if (job.training.activations.any())
      plan.offloaded_activation_bytes =
          OffloadedActivations(profile, HostLoads(profile, c, static_cast<int64_t>(s)));
    plan.memory = MemoryPartsOf(profile, loads, recomputed);
    plan.capacity_bytes = CapacityBytes(job);
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::optional<Plan> BestPlan(const Job& job, const Batching& batching, const Stop& stop) {
  const SearchResult found = Search(job, batching, 0, stop);
  if (found.best.empty()) return std::nullopt;
  const Candidate& best = found.best.front();
  Plan plan;
  plan.parallelism = best.parallelism;
  plan.schedule = best.schedule;
  plan.prediction.micro_batches = best.micro_batches;
  const LayerProfile profile = BuildLayerProfile(job, best.parallelism, batching.mean,
                                                 batching.largest, {}, best.micro_batches);
  plan.stages = StagePlans(job, profile, best, stop);
  return plan;
}

}  // namespace evenkeel::planner
