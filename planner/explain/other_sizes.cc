#include "planner/explain/other_sizes.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "planner/explain/changed_job.h"
#include "planner/hardware/gpus.h"
#include "planner/space/network_tiers.h"

namespace evenkeel::planner {
namespace {

auto SizeOf(const GpuSpec& gpu) { return std::tuple(gpu.memory_bytes, gpu.dense_16bit_flops); }

// Returns the nearest type above or below that could run the job as it is, or nullptr.
const GpuEntry* NextGpu(const Job& job, bool above) {
  const GpuSpec& from = job.cluster.gpu;
  const GpuEntry* next = nullptr;
  for (const GpuEntry* gpu : GpusThatCanRun(job)) {
    const bool beyond = above ? SizeOf(gpu->spec) > SizeOf(from) : SizeOf(gpu->spec) < SizeOf(from);
    if (!beyond) continue;
    if (next == nullptr ||
        (above ? SizeOf(gpu->spec) < SizeOf(next->spec) : SizeOf(gpu->spec) > SizeOf(next->spec)))
      next = gpu;
  }
  return next;
}

struct Change {
  SizeChange kind;
  Job job;
};

std::vector<Change> Changes(const Job& job) {
  const Cluster& cluster = job.cluster;
  std::vector<Change> changes;
  const auto resize = [&](SizeChange kind, int64_t gpu_count) {
    changes.push_back({kind, job});
    ChangeGpuCount(gpu_count, &changes.back().job);
    changes.back().job.constraints.data_parallel = {};
  };
  const auto replace = [&](SizeChange kind, const GpuEntry* gpu) {
    if (gpu == nullptr) return;
    changes.push_back({kind, job});
    ChangeGpu(gpu->spec, &changes.back().job);
  };
  const int64_t node = cluster.gpus_per_node;
  if (cluster.gpu_count > node)
    resize(SizeChange::kNodeLess, GpusInWholeUnits(cluster, cluster.gpu_count - node));
  const int64_t more = GpusOfWholeUnits(cluster, cluster.gpu_count + node);
  if (cluster.joined_gpus == 0 || more <= cluster.joined_gpus) resize(SizeChange::kNodeMore, more);
  replace(SizeChange::kSmallerGpu, NextGpu(job, false));
  replace(SizeChange::kLargerGpu, NextGpu(job, true));
  return changes;
}

}  // namespace

std::vector<OtherSize> OtherSizes(const Job& job, const ShortPlanner& plan, const Stop& stop) {
  std::vector<OtherSize> sizes;
  for (const Change& change : Changes(job)) {
    const std::optional<Alternative> found = plan(change.job);
    if (stop()) return sizes;
    sizes.push_back({.change = change.kind,
                     .gpu = change.job.cluster.gpu.name,
                     .gpu_count = change.job.cluster.gpu_count,
                     .fits = found.has_value(),
                     .plan = found.value_or(Alternative{})});
  }
  return sizes;
}

std::vector<OtherPrecision> OtherPrecisions(const Job& job, const ShortPlanner& plan,
                                            const Stop& stop) {
  std::vector<OtherPrecision> others;
  if (!job.training.trainer->low_precision || job.training.execution.autocast) return others;
  for (const PrecisionRecipe& recipe : PrecisionRecipes()) {
    if (recipe.precision == job.training.precision ||
        !HasProducts(job.cluster.gpu, recipe.products))
      continue;
    Job changed = job;
    ChangePrecision(recipe.precision, &changed);
    std::optional<Alternative> found = plan(changed);
    if (stop()) return others;
    others.push_back({recipe.precision, std::move(found)});
  }
  return others;
}

std::vector<OtherSharding> OtherShardings(const Job& job, const ShortPlanner& plan,
                                          const Stop& stop) {
  const Training& own = job.training;
  const bool one_stage = own.fused_step || own.offload.asked;
  std::vector<OtherSharding> others;
  for (const ZeroStage stage :
       {ZeroStage::kNone, ZeroStage::kOptimizer, ZeroStage::kGradients, ZeroStage::kWeights}) {
    if (stage != own.zero_stage &&
        (one_stage || (own.trainer->always_shards_weights && stage != ZeroStage::kWeights)))
      continue;
    for (const int64_t group : {int64_t{0}, job.cluster.gpus_per_node}) {
      const bool divides = group > 0 && stage != ZeroStage::kNone && group < job.cluster.gpu_count;
      if ((group > 0 && !divides) || (stage == own.zero_stage && group == own.zero_group)) continue;
      Job changed = job;
      if (stage != own.zero_stage) ChangeZeroStage(stage, &changed.training);
      changed.training.zero_group = group;
      std::optional<Alternative> found = plan(changed);
      if (stop()) return others;
      others.push_back({stage, group, std::move(found)});
    }
  }
  return others;
}

}  // namespace evenkeel::planner
