#include "planner/search/stage_plans.h"

#include <algorithm>

#include "planner/cost/memory.h"

namespace evenkeel::planner {

std::vector<LayerGroup> LayerGroups(const LayerProfile& profile, int64_t begin, int64_t end,
                                    const KindCounts& recomputed) {
  std::vector<LayerGroup> groups;
  // Index of the first layer among the transformer layers of its component: dense and MoE layers
  // count together.
  int64_t encoder_before = 0, language_before = 0;
  for (int64_t i = 0; i < begin; ++i) {
    const LayerKind kind = profile.at(i).kind;
    if (kind == LayerKind::kEncoder) ++encoder_before;
    if (kind == LayerKind::kDense || kind == LayerKind::kMoe) ++language_before;
  }
  for (int64_t i = begin; i < end; ++i) {
    const size_t index = static_cast<size_t>(profile.chain[static_cast<size_t>(i)]);
    const LayerKind kind = profile.kinds[index].kind;
    int64_t first = 0;
    if (kind == LayerKind::kEncoder) first = encoder_before++;
    if (kind == LayerKind::kDense || kind == LayerKind::kMoe) first = language_before++;
    if (!groups.empty() && groups.back().kind == kind) {
      ++groups.back().count;
    } else {
      groups.push_back({kind, first, 1, recomputed[index]});
    }
  }
  return groups;
}

MemoryParts MemoryPartsOf(const LayerProfile& profile, const KindCounts& counts,
                          const KindCounts& recomputed, int64_t in_flight) {
  const StageMemory memory = MemoryOf(profile, counts, recomputed, in_flight);
  MemoryParts parts;
  for (size_t k = 0; k < profile.kinds.size(); ++k) {
    parts.weights += counts[k] * profile.kinds[k].weight_bytes;
    parts.gradients += counts[k] * profile.kinds[k].gradient_bytes;
    parts.optimizer += counts[k] * profile.kinds[k].optimizer_bytes;
  }
  parts.activations = memory.activation_bytes;
  parts.workspace = memory.workspace_bytes;
  parts.communication = CommunicationBytes();
  parts.framework = FrameworkBytes();
  parts.allocator_reserve = AllocatorReserve(memory.allocated());
  return parts;
}

std::vector<StagePlan> StagePlans(const Job& job, const LayerProfile& profile,
                                  const Candidate& candidate) {
  const std::vector<int64_t>& boundaries = candidate.boundaries;
  const int64_t stages = candidate.parallelism.pipeline;
  std::vector<StagePlan> plans;
  for (int64_t s = 0; s < stages; ++s) {
    const size_t at = static_cast<size_t>(s);
    const StageWork& work = candidate.stages[at];
    StagePlan plan;
    plan.layers = LayerGroups(profile, boundaries[at], boundaries[at + 1], work.recomputed);
    plan.forward_ns = work.forward_ns;
    plan.backward_ns = work.backward_ns;
    plan.recompute_ns = work.recompute_ns;
    plan.send_ns = work.send_ns;
    plan.send_bytes = work.send_bytes;
    plan.in_flight = std::min(candidate.micro_batches, stages - s);
    plan.parameters = work.parameters;
    plan.memory = MemoryPartsOf(profile, work.counts, work.recomputed, plan.in_flight);
    plan.capacity_bytes = CapacityBytes(job.cluster);
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace evenkeel::planner
