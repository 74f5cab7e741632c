#include "planner/search/misfit.h"

#include <algorithm>
#include <string>
#include <vector>

#include "planner/base/integers.h"
#include "planner/catalog/catalog.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/partition/segment_table.h"
#include "planner/partition/segments.h"
#include "planner/recompute/least_recompute.h"
#include "planner/search/search.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

// The partition of one parallelism whose fullest stage is least full.
struct Tightest {
  int64_t allocated = kNoPlan;  // of the fullest stage
  int64_t stage = 0;
  std::vector<int64_t> boundaries;
};

// Minimax over memory instead of time, by the same dynamic programme over (stage, boundary).
// Nothing is found where `stop` says so.
Tightest LeastFullest(const Job& job, const LayerProfile& profile, const Segments& table,
                      const std::function<bool()>& stop) {
  const int64_t n = table.size(), stages = table.stages();
  const size_t width = static_cast<size_t>(n) + 1;
  std::vector<int64_t> value(width, kNoPlan), next(width);
  std::vector<int64_t> cuts(static_cast<size_t>(stages) * width, -1);
  const auto memory = [&](int64_t s, int64_t i, int64_t j) {
    return LeastAllocated(profile, table.Counts(i, j), table.InFlight(s),
                          job.constraints.recompute);
  };
  value[0] = 0;
  for (int64_t s = 0; s < stages; ++s) {
    std::fill(next.begin(), next.end(), kNoPlan);
    for (int64_t j = 1; j <= n; ++j) {
      if (stop && stop()) return {};
      for (int64_t i = j - 1; i >= 0; --i) {
        if (value[static_cast<size_t>(i)] >= next[static_cast<size_t>(j)] ||
            !table.Allowed(s, i, j))
          continue;
        const int64_t fullest = std::max(value[static_cast<size_t>(i)], memory(s, i, j));
        if (fullest >= next[static_cast<size_t>(j)]) continue;
        next[static_cast<size_t>(j)] = fullest;
        cuts[static_cast<size_t>(s) * width + static_cast<size_t>(j)] = i;
      }
    }
    value.swap(next);
  }
  Tightest result;
  result.allocated = value[static_cast<size_t>(n)];
  if (result.allocated >= kNoPlan) return result;
  result.boundaries.assign(static_cast<size_t>(stages) + 1, n);
  for (int64_t s = stages - 1; s >= 0; --s) {
    const int64_t end = result.boundaries[static_cast<size_t>(s) + 1];
    const int64_t begin = cuts[static_cast<size_t>(s) * width + static_cast<size_t>(end)];
    result.boundaries[static_cast<size_t>(s)] = begin;
    if (memory(s, begin, end) == result.allocated) result.stage = s;
  }
  return result;
}

// One parallelism and what its stages hold at least.
struct Shard {
  Parallelism parallelism;
  int64_t micro_batches = 0;
  LayerProfile profile;
  int64_t least_static_bytes =
      0;  // weights, gradients and optimizer, spread evenly over the stages

  Segments Cut(const Job& job) const { return Segments(job, profile, parallelism, micro_batches); }
};

// All parallelisms, those that hold least first.
std::vector<Shard> BySize(const Job& job, const Batching& batching) {
  const double packs_per_step = batching.packs_per_step(job.training.global_batch_samples);
  std::vector<Shard> shards;
  for (const Parallelism& p : Parallelisms(job, packs_per_step)) {
    Shard shard{.parallelism = p, .micro_batches = MicroBatches(packs_per_step, p.data)};
    shard.profile = BuildLayerProfile(job, p, batching.mean, batching.largest);
    for (int64_t i = 0; i < shard.profile.size(); ++i) {
      shard.least_static_bytes += shard.profile.at(i).static_bytes();
    }
    shard.least_static_bytes /= p.pipeline;
    shards.push_back(std::move(shard));
  }
  std::stable_sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) {
    return a.least_static_bytes < b.least_static_bytes;
  });
  return shards;
}

// Of the explanation, and of all remedies together: what would take more is not offered.
constexpr int64_t kSegmentsAtMost = 2'000'000;
constexpr int kDoublings = 7;
constexpr int64_t kStepsInsideNode = 16;
constexpr int64_t kGpusAtMost = 65536;  // the contract's bound

class Remedies {
 public:
  Remedies(const Job& job, const Batching& batching, const std::function<bool()>& stop)
      : job_(job), batching_(batching), stop_(stop) {}

  std::vector<Remedy> Find() {
    TryRecompute();
    TrySharding();
    TryFreeDegrees();
    TrySmallerCaps();
    TryMoreGpus();
    TryLargerGpu();
    return std::move(found_);
  }

 private:
  bool Stopped() const { return stop_ && stop_(); }
  // For changes that leave the packs as they are.
  bool Fits(const Job& changed) {
    return !Stopped() && FitsAtAll(changed, batching_, stop_, &segments_left_);
  }

  void TryRecompute() {
    if (job_.constraints.recompute == RecomputePolicy::kAuto) return;
    Job changed = job_;
    changed.constraints.recompute = RecomputePolicy::kAuto;
    if (!Fits(changed)) return;
    found_.push_back(
        {.kind = RemedyKind::kAllowRecompute,
         .text = "let the planner choose which layers to recompute (constraints.recompute AUTO)"});
  }

  void TrySharding() {
    if (job_.training.zero_stage == ZeroStage::kOptimizer) return;
    Job changed = job_;
    changed.training.zero_stage = ZeroStage::kOptimizer;
    if (!Fits(changed)) return;
    found_.push_back({.kind = RemedyKind::kShardOptimizer,
                      .text = "shard the optimizer over data-parallel ranks (ZeRO 1)"});
  }

  void TryFreeDegrees() {
    Job changed = job_;
    changed.constraints = {.recompute = job_.constraints.recompute};
    const Constraints& c = job_.constraints;
    const auto bound = [](const DegreeRange& r) { return r.min > 1 || r.max != 0; };
    if (!bound(c.tensor_parallel) && !bound(c.pipeline_parallel) && !bound(c.data_parallel) &&
        c.stage_layers.empty()) {
      return;
    }
    if (!Fits(changed)) return;
    found_.push_back({.kind = RemedyKind::kFreeDegrees,
                      .text = "lift the constraints on parallel degrees and partition"});
  }

  void TrySmallerCaps() {
    const BatchRule& rule = batching_.rule;
    int64_t longest = 0, most_units = 0;
    for (const LengthBin& bin : job_.dataset.bins) {
      longest = std::max(longest, bin.llm_tokens);
      most_units = std::max(most_units, bin.units);
    }
    // Seven eighths of the token cap, six eighths, ... down to the longest sample; units in
    // proportion.
    for (int64_t eighths = 7; eighths >= 1; --eighths) {
      const int64_t tokens = std::max(longest, rule.token_cap * eighths / 8);
      const int64_t units =
          rule.unit_cap == 0 ? 0 : std::max(most_units, rule.unit_cap * eighths / 8);
      if (tokens >= rule.token_cap && units >= rule.unit_cap) return;
      Job changed = job_;
      changed.training.token_cap = tokens;
      changed.training.unit_cap = units;
      if (Stopped()) return;
      if (!FitsAtAll(changed, MakeBatching(changed), stop_, &segments_left_)) continue;
      std::string text = "smaller packs: token_cap " + std::to_string(tokens) + " instead of " +
                         std::to_string(rule.token_cap);
      if (units > 0)
        text +=
            ", unit_cap " + std::to_string(units) + " instead of " + std::to_string(rule.unit_cap);
      found_.push_back(
          {.kind = RemedyKind::kSmallerCaps, .text = text, .unit_cap = units, .token_cap = tokens});
      return;
    }
  }

  bool FitsOn(int64_t gpus) {
    Job changed = job_;
    changed.cluster.gpu_count = gpus;
    changed.cluster.gpus_per_node = std::min(gpus, job_.cluster.gpus_per_full_node);
    return Fits(changed);
  }

  // The fewest: one by one inside a node, then whole nodes, doubling until it fits and bisecting
  // between the last two.
  void TryMoreGpus() {
    const int64_t node = job_.cluster.gpus_per_full_node, from = job_.cluster.gpu_count;
    for (int64_t gpus = from + 1; gpus <= std::min(node, from + kStepsInsideNode); ++gpus) {
      if (FitsOn(gpus)) return OfferGpus(gpus);
    }
    int64_t nodes = from / node, enough = std::max<int64_t>(1, nodes * 2);
    for (int doublings = 1; !FitsOn(enough * node); enough *= 2, ++doublings) {
      if (doublings > kDoublings || enough * 2 * node > kGpusAtMost) return;
      nodes = enough;
    }
    while (enough - nodes > 1) {
      const int64_t middle = (nodes + enough) / 2;
      (FitsOn(middle * node) ? enough : nodes) = middle;
    }
    OfferGpus(enough * node);
  }

  void OfferGpus(int64_t gpus) {
    found_.push_back({.kind = RemedyKind::kMoreGpus,
                      .text = std::to_string(gpus) + " GPUs instead of " +
                              std::to_string(job_.cluster.gpu_count),
                      .gpu_count = gpus});
  }

  // The catalogue's smallest memory that is enough, of the same vendor.
  void TryLargerGpu() {
    const GpuEntry* own = FindGpu(job_.cluster.gpu.name);
    std::vector<const GpuEntry*> larger;
    for (const GpuEntry& gpu : Gpus()) {
      if (own != nullptr && gpu.vendor != own->vendor) continue;
      if (!gpu.spec.bfloat16 && job_.cluster.gpu.bfloat16)
        continue;  // could not run the job as it is
      if (gpu.spec.memory_bytes > job_.cluster.gpu.memory_bytes) larger.push_back(&gpu);
    }
    std::stable_sort(larger.begin(), larger.end(), [](const GpuEntry* a, const GpuEntry* b) {
      return a->spec.memory_bytes < b->spec.memory_bytes;
    });
    for (const GpuEntry* gpu : larger) {
      Job changed = job_;
      changed.cluster.gpu = gpu->spec;
      if (!Fits(changed)) continue;
      found_.push_back({.kind = RemedyKind::kLargerGpu,
                        .text = "the same number of " + gpu->spec.name + " (" +
                                std::to_string(gpu->spec.memory_bytes / kGiB) + " GiB)",
                        .gpu = gpu->spec.name});
      return;
    }
  }

  const Job& job_;
  const Batching& batching_;
  const std::function<bool()>& stop_;
  int64_t segments_left_ = kSegmentsAtMost;
  std::vector<Remedy> found_;
};

}  // namespace

bool FitsAtAll(const Job& job, const Batching& batching, const std::function<bool()>& stop,
               int64_t* segments_left) {
  const int64_t allocatable = AllocatableBytes(job.cluster);
  for (const Shard& shard : BySize(job, batching)) {
    if (shard.least_static_bytes > allocatable || (stop && stop())) return false;
    const Segments segments = shard.Cut(job);
    *segments_left -= segments.count();
    if (*segments_left < 0) return false;
    if (LeastFullest(job, shard.profile, segments, stop).allocated <= allocatable) return true;
  }
  return false;
}

std::optional<Misfit> ExplainMisfit(const Job& job, const Batching& batching,
                                    const std::function<bool()>& stop) {
  int64_t least = kNoPlan, work = 0;
  Misfit misfit;
  for (const Shard& shard : BySize(job, batching)) {
    if (stop && stop()) return std::nullopt;
    if (shard.least_static_bytes >= least) break;
    const Segments segments = shard.Cut(job);
    work += segments.count();
    if (least < kNoPlan && work > kSegmentsAtMost) break;
    const Tightest tightest = LeastFullest(job, shard.profile, segments, stop);
    if (tightest.allocated >= least) continue;
    least = tightest.allocated;
    const int64_t begin = tightest.boundaries[static_cast<size_t>(tightest.stage)];
    const int64_t end = tightest.boundaries[static_cast<size_t>(tightest.stage) + 1];
    const KindCounts counts = segments.Counts(begin, end);
    const int64_t in_flight = segments.InFlight(tightest.stage);
    const KindCounts recomputed =
        SmallestRecompute(shard.profile, counts, in_flight, job.constraints.recompute);
    misfit.parallelism = shard.parallelism;
    misfit.stage = tightest.stage;
    misfit.layers = LayerGroups(shard.profile, begin, end, recomputed);
    misfit.memory = MemoryPartsOf(shard.profile, counts, recomputed, in_flight);
  }
  misfit.capacity_bytes = CapacityBytes(job.cluster);
  misfit.short_bytes = std::max<int64_t>(1, misfit.memory.total() - misfit.capacity_bytes);
  misfit.remedies = Remedies(job, batching, stop).Find();
  if (stop && stop()) return std::nullopt;
  return misfit;
}

}  // namespace evenkeel::planner
