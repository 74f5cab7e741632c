#include "planner/search/least_memory.h"

#include <algorithm>
#include <numeric>

#include "planner/partition/segment_table.h"
#include "planner/partition/segments.h"
#include "planner/recompute/least_recompute.h"
#include "planner/search/chunked_partition.h"
#include "planner/search/parallelisms.h"
#include "planner/simulate/held_passes.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {
namespace {

bool SameButForChunks(const Parallelism& a, const Parallelism& b) {
  Parallelism other = b;
  other.virtual_stages = a.virtual_stages;
  return a == other;
}

StageHeld HeldBy(const Job& job, const Shard& shard, const std::vector<int64_t>& boundaries,
                 int64_t stage) {
  const std::vector<int64_t> held = MostHeld(shard.shape, stage);
  StageHeld result;
  for (size_t c = 0; c < held.size(); ++c) {
    const size_t segment = c * static_cast<size_t>(shard.shape.stages) + static_cast<size_t>(stage);
    ChunkLoad load{.in_flight = held[c]};
    for (int64_t i = boundaries[segment]; i < boundaries[segment + 1]; ++i)
      ++load.counts[static_cast<size_t>(shard.profile.chain[static_cast<size_t>(i)])];
    result.loads.push_back(load);
    result.recomputed.push_back(
        SmallestRecompute(shard.profile, load.counts, load.in_flight, job.constraints.recompute));
  }
  result.allocated = MemoryOf(shard.profile, result.loads, result.recomputed).allocated();
  return result;
}

// The fullest stage of a cut.
LeastFull FullestOf(const Job& job, const Shard& shard, std::vector<int64_t> boundaries) {
  LeastFull result{.found = true, .boundaries = std::move(boundaries)};
  for (int64_t s = 0; s < shard.shape.stages; ++s) {
    StageHeld held = HeldBy(job, shard, result.boundaries, s);
    if (held.allocated > result.held.allocated) result.held = std::move(held), result.stage = s;
  }
  return result;
}

// Minimax over memory. Empty: stopped, or no partition is allowed.
std::vector<int64_t> LeastFullestCut(const Job& job, const Shard& shard,
                                     const std::function<bool()>& stop) {
  const Segments table(job, shard.profile, shard.parallelism, shard.shape.micro_batches);
  const int64_t n = table.size(), stages = table.stages();
  const size_t width = static_cast<size_t>(n) + 1;
  std::vector<int64_t> value(width, kNoPlan), next(width);
  std::vector<int64_t> cuts(static_cast<size_t>(stages) * width, -1);
  value[0] = 0;
  for (int64_t s = 0; s < stages; ++s) {
    const int64_t in_flight = MostHeld(shard.shape, s).front();
    std::fill(next.begin(), next.end(), kNoPlan);
    for (int64_t j = 1; j <= n; ++j) {
      if (stop && stop()) return {};
      int64_t& best = next[static_cast<size_t>(j)];
      for (int64_t i = j - 1; i >= 0; --i) {
        if (value[static_cast<size_t>(i)] >= best || !table.Allowed(s, i, j)) continue;
        const int64_t memory =
            LeastAllocated(shard.profile, table.Counts(i, j), in_flight, job.constraints.recompute);
        if (memory >= best) break;  // a longer stage holds more
        best = std::max(value[static_cast<size_t>(i)], memory);
        cuts[static_cast<size_t>(s) * width + static_cast<size_t>(j)] = i;
      }
    }
    value.swap(next);
  }
  if (value[static_cast<size_t>(n)] >= kNoPlan) return {};
  std::vector<int64_t> boundaries(static_cast<size_t>(stages) + 1, n);
  for (size_t s = static_cast<size_t>(stages); s-- > 0;)
    boundaries[s] = cuts[s * width + static_cast<size_t>(boundaries[s + 1])];
  return boundaries;
}

}  // namespace

int64_t Shard::segments() const {
  const int64_t window = profile.size() - shape.stages + 1;
  return window < 1 ? 0 : shape.stages * (window * (window + 1) / 2);
}

std::vector<Shard> ShardsBySize(const Job& job, const Batching& batching) {
  const double packs_per_step = batching.packs_per_step(job.training.global_batch_samples);
  std::vector<Shard> shards;
  for (const Parallelism& p : Parallelisms(job, packs_per_step)) {
    if (!shards.empty() && SameButForChunks(shards.back().parallelism, p)) continue;
    Shard shard{
        .parallelism = p,
        .shape = ShapeOf(p, ScheduleOf(job.constraints, p), MicroBatches(packs_per_step, p.data))};
    shard.profile = BuildLayerProfile(job, p, batching.mean, batching.largest);
    for (int64_t i = 0; i < shard.profile.size(); ++i)
      shard.least_static_bytes += shard.profile.at(i).static_bytes();
    shard.least_static_bytes /= p.pipeline;
    shards.push_back(std::move(shard));
  }
  std::stable_sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) {
    return a.least_static_bytes < b.least_static_bytes;
  });
  return shards;
}

LeastFull LeastFullest(const Job& job, const Shard& shard, const std::function<bool()>& stop) {
  if (shard.shape.chunks > 1)
    return FullestOf(job, shard, EvenLayerCut(job, shard.profile, shard.parallelism));
  std::vector<int64_t> boundaries = LeastFullestCut(job, shard, stop);
  if (boundaries.empty()) return {};
  return FullestOf(job, shard, std::move(boundaries));
}

}  // namespace evenkeel::planner
