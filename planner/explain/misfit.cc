#include "planner/explain/misfit.h"

#include <algorithm>
#include <utility>

#include "planner/candidates/parallelisms.h"
#include "planner/cost/memory.h"
#include "planner/cuts/least_memory.h"
#include "planner/explain/remedies.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kSegmentsToCount = 2'000'000;

// Returns the layers of the fullest stage as a plan would list them.
std::vector<LayerGroup> FullestStageLayers(const MemoryProspect& prospect,
                                           const LeastFull& tightest) {
  std::vector<LayerGroup> layers;
  for (size_t c = 0; c < tightest.held.loads.size(); ++c) {
    const size_t segment =
        c * static_cast<size_t>(prospect.shape.stages) + static_cast<size_t>(tightest.stage);
    for (LayerGroup& group :
         LayerGroups(prospect.profile, tightest.boundaries[segment],
                     tightest.boundaries[segment + 1], tightest.held.recomputed[c])) {
      group.chunk = static_cast<int64_t>(c);
      layers.push_back(std::move(group));
    }
  }
  return layers;
}

// Returns the degrees with most ranks that run packs of their own, of a job whose fused step admits
// none.
Misfit TooManyMicroBatches(const Job& job, const Batching& batching) {
  Job separate = job;
  separate.training.fused_step = false;
  const double packs = batching.packs_per_step(job.training.global_batch_samples);
  Misfit misfit;
  for (const Parallelism& p : Parallelisms(separate, packs)) {
    if (misfit.micro_batches > 0 && p.data <= misfit.parallelism.data) continue;
    misfit.parallelism = p;
    misfit.micro_batches = MicroBatches(packs, p.data);
  }
  misfit.capacity_bytes = CapacityBytes(job);
  return misfit;
}

}  // namespace

std::optional<Misfit> ExplainMisfit(const Job& job, const Batching& batching, const Stop& stop) {
  Misfit misfit;
  std::optional<int64_t> least;
  int64_t work = 0, host_short = 0;
  const std::vector<MemoryProspect> prospects = ProspectsByMemory(job, batching, stop);
  if (prospects.empty() && job.training.fused_step) {
    misfit = TooManyMicroBatches(job, batching);
    misfit.remedies = FindRemedies(job, batching, misfit, stop);
    return stop() ? std::nullopt : std::optional<Misfit>(std::move(misfit));
  }
  const bool plain =
      std::any_of(prospects.begin(), prospects.end(),
                  [](const MemoryProspect& prospect) { return prospect.shape.chunks == 1; });
  for (const MemoryProspect& prospect : prospects) {
    if (stop()) return std::nullopt;
    if (least && prospect.least_static_bytes >= *least) break;
    // Several chunks are rarely nearer to fitting than one. They are examined only if they may fit,
    // or if all parallelisms have several.
    const bool open = prospect.shape.chunks > 1 && !NoRoom(job, prospect);
    if (plain && !open && prospect.shape.chunks > 1) continue;
    work += prospect.segments();
    if (least && work > kSegmentsToCount) {
      misfit.proven = misfit.proven && !open;
      continue;
    }
    const LeastFull tightest = LeastFullest(job, prospect, stop);
    misfit.proven = misfit.proven && (!open || tightest.proven);
    if (!tightest.found || (least && tightest.held.allocated >= *least)) continue;
    least = tightest.held.allocated;
    misfit.parallelism = prospect.parallelism;
    misfit.stage = tightest.stage;
    misfit.layers = FullestStageLayers(prospect, tightest);
    host_short = job.cluster.gpus_per_node * HostExcess(prospect.profile, tightest.held.loads);
    misfit.memory = MemoryPartsOf(prospect.profile, tightest.held.loads, tightest.held.recomputed);
  }
  misfit.capacity_bytes = CapacityBytes(job);
  // Above 0 if nothing fits. The checker requires it.
  misfit.short_bytes = misfit.memory.total() - misfit.capacity_bytes;
  if (misfit.short_bytes <= 0 && host_short > 0)
    misfit.short_bytes = 0, misfit.host_short_bytes = host_short;
  if (misfit.short_bytes > 0 || misfit.host_short_bytes > 0)
    misfit.remedies = FindRemedies(job, batching, misfit, stop);
  if (stop()) return std::nullopt;
  return misfit;
}

}  // namespace evenkeel::planner
