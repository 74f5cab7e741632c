#include "planner/search/misfit.h"

#include <algorithm>

#include "planner/cost/memory.h"
#include "planner/search/least_memory.h"
#include "planner/search/remedies.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kSegmentsAtMost = 2'000'000;

// The fullest stage as a plan would list it.
std::vector<LayerGroup> LayersOf(const Shard& shard, const LeastFull& tightest) {
  std::vector<LayerGroup> layers;
  for (size_t c = 0; c < tightest.held.loads.size(); ++c) {
    const size_t segment =
        c * static_cast<size_t>(shard.shape.stages) + static_cast<size_t>(tightest.stage);
    for (LayerGroup& group :
         LayerGroups(shard.profile, tightest.boundaries[segment], tightest.boundaries[segment + 1],
                     tightest.held.recomputed[c])) {
      group.chunk = static_cast<int64_t>(c);
      layers.push_back(std::move(group));
    }
  }
  return layers;
}

}  // namespace

bool FitsAtAll(const Job& job, const Batching& batching, const std::function<bool()>& stop,
               int64_t* segments_left) {
  const int64_t allocatable = AllocatableBytes(job.cluster);
  for (const Shard& shard : ShardsBySize(job, batching)) {
    if (shard.least_static_bytes > allocatable || (stop && stop())) return false;
    *segments_left -= shard.segments();
    if (*segments_left < 0) return false;
    const LeastFull tightest = LeastFullest(job, shard, stop);
    if (tightest.found && tightest.held.allocated <= allocatable) return true;
  }
  return false;
}

std::optional<Misfit> ExplainMisfit(const Job& job, const Batching& batching,
                                    const std::function<bool()>& stop) {
  Misfit misfit;
  std::optional<int64_t> least;
  int64_t work = 0;
  for (const Shard& shard : ShardsBySize(job, batching)) {
    if (stop && stop()) return std::nullopt;
    if (least && shard.least_static_bytes >= *least) break;
    work += shard.segments();
    if (least && work > kSegmentsAtMost) break;
    const LeastFull tightest = LeastFullest(job, shard, stop);
    if (!tightest.found || (least && tightest.held.allocated >= *least)) continue;
    least = tightest.held.allocated;
    misfit.parallelism = shard.parallelism;
    misfit.stage = tightest.stage;
    misfit.layers = LayersOf(shard, tightest);
    misfit.memory = MemoryPartsOf(shard.profile, tightest.held.loads, tightest.held.recomputed);
  }
  misfit.capacity_bytes = CapacityBytes(job.cluster);
  misfit.short_bytes = std::max<int64_t>(1, misfit.memory.total() - misfit.capacity_bytes);
  misfit.remedies = FindRemedies(job, batching, stop);
  if (stop && stop()) return std::nullopt;
  return misfit;
}

}  // namespace evenkeel::planner
