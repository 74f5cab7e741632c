#include "planner/search/remedies.h"

#include <algorithm>
#include <string>

#include "planner/base/integers.h"
#include "planner/catalog/catalog.h"
#include "planner/cost/calibration.h"
#include "planner/search/misfit.h"
#include "planner/search/other_sizes.h"

namespace evenkeel::planner {
namespace {

// Of all remedies together: what would take more is not offered.
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
    TryContext();
    TryExperts();
    TryFreeDegrees();
    TryShardingWeights();
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
    if (job_.training.zero_stage != ZeroStage::kNone) return;
    Job changed = job_;
    changed.training.zero_stage = ZeroStage::kOptimizer;
    if (!Fits(changed)) return;
    found_.push_back({.kind = RemedyKind::kShardOptimizer,
                      .text = "shard the optimizer over data-parallel ranks (ZeRO 1)"});
  }

  static bool Bound(const DegreeRange& r) { return r.min > 1 || r.max != 0; }

  void TryContext() {
    if (!Bound(job_.constraints.context_parallel)) return;
    Job changed = job_;
    changed.constraints.context_parallel = {1, 0};
    if (!Fits(changed)) return;
    found_.push_back({.kind = RemedyKind::kContextParallel,
                      .text = "let ranks share the tokens of a pack "
                              "(constraints.context_parallel free)"});
  }

  void TryExperts() {
    if (!job_.model.language_model.moe || !Bound(job_.constraints.expert_parallel)) return;
    Job changed = job_;
    changed.constraints.expert_parallel = {1, 0};
    if (!Fits(changed)) return;
    found_.push_back({.kind = RemedyKind::kExpertParallel,
                      .text = "let ranks share a layer's experts "
                              "(constraints.expert_parallel free)"});
  }

  void TryFreeDegrees() {
    const Constraints& c = job_.constraints;
    if (!Bound(c.tensor_parallel) && !Bound(c.pipeline_parallel) && !Bound(c.data_parallel) &&
        c.virtual_stages.min <= 1 && c.stage_layers.empty()) {
      return;
    }
    Job changed = job_;
    Constraints& to = changed.constraints;
    to.tensor_parallel = to.pipeline_parallel = to.data_parallel = {};
    to.virtual_stages.min = to.context_parallel.min = to.expert_parallel.min = 1;
    to.stage_layers.clear();
    if (!Fits(changed)) return;
    found_.push_back({.kind = RemedyKind::kFreeDegrees,
                      .text = "lift the constraints on parallel degrees and partition"});
  }

  void TryShardingWeights() {
    if (job_.training.zero_stage == ZeroStage::kWeights) return;
    Job changed = job_;
    changed.training.zero_stage = ZeroStage::kWeights;
    if (!Fits(changed)) return;
    found_.push_back({.kind = RemedyKind::kShardWeights,
                      .text = "shard weights and gradients too, without pipeline (ZeRO 3, FSDP)"});
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
    changed.cluster = Resized(job_.cluster, gpus);
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
      changed.calibration = WithoutTimes(job_.calibration);
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

std::vector<Remedy> FindRemedies(const Job& job, const Batching& batching,
                                 const std::function<bool()>& stop) {
  return Remedies(job, batching, stop).Find();
}

}  // namespace evenkeel::planner
