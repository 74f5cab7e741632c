#include "planner/explain/ladder.h"

#include <algorithm>
#include <cmath>

#include "planner/cost/apply_calibration.h"
#include "planner/cost/memory.h"
#include "planner/cuts/refine.h"
#include "planner/packing/sample.h"
#include "planner/partition/partition_search.h"

namespace evenkeel::planner {
namespace {

std::vector<ModeCounts> RecomputeAll(const LayerProfile& profile,
                                     const std::vector<int64_t>& boundaries) {
  std::vector<ModeCounts> all(boundaries.size() - 1);
  for (size_t s = 0; s + 1 < boundaries.size(); ++s) {
    for (int64_t i = boundaries[s]; i < boundaries[s + 1]; ++i) {
      const LayerCost& layer = profile.at(i);
      if (!layer.recomputable()) continue;
      ++all[s][static_cast<size_t>(profile.chain[static_cast<size_t>(i)])][layer.modes.size() - 1];
    }
  }
  return all;
}

bool Fits(const Job& job, const LayerProfile& profile, const Candidate& c) {
  const int64_t allocatable = AllocatableBytes(job),
                stages = static_cast<int64_t>(c.segments.size());
  for (int64_t s = 0; s < stages; ++s) {
    const SegmentWork& stage = c.segments[static_cast<size_t>(s)];
    const int64_t in_flight = std::min(c.micro_batches, stages - s);
    if (!HostHasRoom(profile, ChunkLoad{stage.counts, in_flight}) ||
        MemoryOf(profile, stage.counts, stage.recomputed, in_flight).allocated() > allocatable)
      return false;
  }
  return true;
}

struct Rungs {
  const Job& job;
  const Batching& batching;
  const Candidate& plan;

  double PackedMicroBatches() const { return static_cast<double>(batching.rule.packs); }
  double BaselineMicroBatches() const {
    return static_cast<double>(SampleCount(job.dataset)) /
           static_cast<double>(batching.baseline_samples);
  }

  LadderRung Make(const char* name, const LayerProfile& profile, const Candidate& c,
                  const std::vector<PackShape>& packs, double micro_batch_count,
                  double pad_ratio) const {
    const DistRatios dist = DistRatiosOf(packs, batching.rule, c.parallelism.data, c.micro_batches);
    const int64_t step_ns = CorrectedStep(job.calibration, c.step.total_ns());
    return {
        .name = name,
        .fits = Fits(job, profile, c),
        .gpu_days = GpuDays(job, step_ns, static_cast<int64_t>(std::ceil(micro_batch_count)), c),
        .step_ns = step_ns,
        .pad_ratio = pad_ratio,
        .dist_ratio_units = dist.units,
        .dist_ratio_tokens = dist.tokens};
  }

  // Makes stages equal by parameters, with everything recomputed.
  Candidate Unbalanced(const LayerProfile& profile, const std::vector<PackShape>& packs) const {
    const std::vector<int64_t> split = SplitByParameters(profile, plan.parallelism.pipeline);
    return Evaluate(job, profile, plan.parallelism, plan.micro_batches, split,
                    RecomputeAll(profile, split), packs);
  }
};

}  // namespace

std::vector<LadderRung> MakeLadder(const Job& job, const Batching& batching,
                                   const Candidate& chosen, const std::vector<PackShape>& dealt,
                                   const Stop& stop) {
  const auto stopped = [&] { return stop(); };
  // The other rungs are 1F1B with one chunk per stage.
  Candidate plan = chosen;
  plan.parallelism.virtual_stages = 1;
  plan.schedule = Schedule::kOneFOneB;
  const Rungs rungs{job, batching, plan};
  PackShape widest = batching.baseline.front();
  for (const PackShape& p : batching.baseline) {
    widest.units = Max(widest.units, p.units);
    widest.tokens = std::max(widest.tokens, p.tokens);
  }
  std::vector<LadderRung> ladder;
  const LayerProfile padded = BuildLayerProfile(job, plan.parallelism, batching.baseline_mean,
                                                widest, {}, plan.micro_batches);
  ladder.push_back(rungs.Make("baseline", padded, rungs.Unbalanced(padded, batching.baseline),
                              batching.baseline, rungs.BaselineMicroBatches(),
                              batching.baseline_pad_ratio));
  if (stopped()) return ladder;

  const LayerProfile profile = BuildLayerProfile(job, plan.parallelism, batching.mean,
                                                 batching.largest, {}, plan.micro_batches);
  const double packs = rungs.PackedMicroBatches();
  const Candidate unbalanced = rungs.Unbalanced(profile, dealt);
  const double pad_ratio = batching.rule.pad_ratio;
  if (!batching.padded)
    ladder.push_back(rungs.Make("+ data balance", profile, unbalanced, dealt, packs, pad_ratio));
  if (stopped()) return ladder;

  // Finds the best partition with everything recomputed. If none fits, layers are split evenly.
  Job recompute_all = job;
  recompute_all.constraints.recompute = RecomputePolicy::kFull;
  const SegmentTable table(recompute_all, profile, plan.parallelism, plan.micro_batches, stop);
  const PartitionSearchResult found = FindPartition(table, plan.micro_batches, stop);
  if (found.stopped) return ladder;
  const std::vector<int64_t> boundaries =
      found.best ? found.best->boundaries : SplitByLayers(profile, plan.parallelism.pipeline);
  Candidate balanced = Evaluate(recompute_all, profile, plan.parallelism, plan.micro_batches,
                                boundaries, RecomputeAll(profile, boundaries), dealt);
  if (found.best) {
    RefineByMeanPacks(table, balanced, stop);
    balanced.step = SimulateStep(job, plan.parallelism, balanced.shape(), balanced.segments, dealt,
                                 kEventsAtMost, stop);
  }
  const bool better = balanced.step.total_ns() < unbalanced.step.total_ns();
  ladder.push_back(rungs.Make("+ model balance", profile, better ? balanced : unbalanced, dealt,
                              packs, pad_ratio));
  ladder.push_back(rungs.Make("+ memory balance", profile, chosen, dealt, packs, pad_ratio));
  ladder.back().fits = true;
  return ladder;
}

}  // namespace evenkeel::planner
