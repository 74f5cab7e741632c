#include "planner/search/choose_offload.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/cost/host_memory.h"
#include "planner/search/choose_caps.h"
#include "planner/search/parallelisms.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kWhole = 1000;  // shares are counted in thousandths

// A share is chosen to within this part of a step, or by so many searches.
constexpr int64_t kTolerance = 1000;
constexpr int kSearchesAtMost = 24;
constexpr int kReductionsAtMost = 4;

// Divides ranges of shares, the most promising first. What a range can reach at best is a plan
// whose GPUs hold as little as with its upper end, and which pays for its lower end alone.
class ShareSearch {
 public:
  ShareSearch(const Job& job, const PlanHooks& hooks, const SearchWork& limits)
      : job_(job), hooks_(hooks), limits_(limits) {}

  int64_t Run() {
    Try(0);
    if (OffloadSharesOf(*job_.training.trainer, job_.training.zero_stage) ==
        OffloadShares::kWhole) {
      Try(kWhole);
      return best_;
    }
    Open(0, kWhole);
    while (!ranges_.empty() && searches_ < kSearchesAtMost && !Stopped()) {
      const auto next =
          std::min_element(ranges_.begin(), ranges_.end(),
                           [](const Range& a, const Range& b) { return a.bound_ns < b.bound_ns; });
      const Range range = *next;
      ranges_.erase(next);
      if (!MayGain(range.bound_ns)) break;
      // The plan that bounds the range is known with its least share.
      const int64_t middle = (range.low + range.least - 1) / 2;
      Open(range.least, range.high);
      Open(range.low, middle);
      Open(std::max(range.low, middle), range.least - 1);
    }
    if (best_ns_ == 0) Try(kWhole);
    if (best_ns_ == 0) return kWhole;
    Reduce();
    return best_;
  }

 private:
  struct Range {
    int64_t low = 0, high = 0;  // shares above the first, up to the second
    int64_t least = 0;          // that the plan needs which bounds the range
    int64_t bound_ns = 0;
  };

  bool Stopped() const { return hooks_.stop && hooks_.stop(); }

  // Returns whether a step is shorter than the best by more than the tolerance.
  bool MayGain(int64_t ns) const { return best_ns_ == 0 || ns < best_ns_ - best_ns_ / kTolerance; }

  static double ShareOf(int64_t thousandths) {
    return static_cast<double>(thousandths) / static_cast<double>(kWhole);
  }

  CapsSearch Plan(const Job& job) {
    ++searches_;
    return ChooseCaps(job, 0, hooks_, limits_);
  }

  void Offer(int64_t share, int64_t ns) {
    if (best_ns_ > 0 && (ns > best_ns_ || (ns == best_ns_ && share >= best_))) return;
    best_ = share, best_ns_ = ns;
  }

  void Try(int64_t share) {
    const CapsSearch search = Plan(WithOffload(job_, ShareOf(share)));
    if (!search.stopped && !search.found.best.empty())
      Offer(share, search.found.best.front().simulated_ns);
  }

  // What a search with the best share finds may need less.
  void Reduce() {
    for (int tries = 0; tries < kReductionsAtMost && best_ > 0 && !Stopped(); ++tries) {
      const int64_t share = best_;
      const CapsSearch search = Plan(WithOffload(job_, ShareOf(share)));
      if (search.stopped || search.found.best.empty()) return;
      const Candidate& c = search.found.best.front();
      const int64_t least = LeastShare(search.batching, c, -1, share);
      if (least == share) return;
      const std::optional<int64_t> ns = StepWith(search.batching, c, least);
      if (ns) Offer(least, *ns);
      if (best_ == share) return;
    }
  }

  void Open(int64_t low, int64_t high) {
    if (low >= high || searches_ >= kSearchesAtMost || Stopped()) return;
    Job relaxed = WithOffload(job_, ShareOf(high));
    relaxed.training.offload.charged_ratio = ShareOf(low);
    const CapsSearch search = Plan(relaxed);
    if (search.stopped || search.found.best.empty()) return;
    const Candidate& c = search.found.best.front();
    if (!MayGain(c.simulated_ns)) return;
    const int64_t share = LeastShare(search.batching, c, low, high);
    if (const std::optional<int64_t> ns = StepWith(search.batching, c, share)) Offer(share, *ns);
    ranges_.push_back({low, high, share, c.simulated_ns});
  }

  // Returns the least share above `low` with which the candidate fits on the GPUs. It fits with
  // `high`.
  int64_t LeastShare(const Batching& batching, const Candidate& c, int64_t low,
                     int64_t high) const {
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (Fits(batching, c, middle) ? high : low) = middle;
    }
    return high;
  }

  bool Fits(const Batching& batching, const Candidate& c, int64_t share) const {
    const Job job = WithOffload(job_, ShareOf(share));
    const std::vector<StagePlan> stages =
        StagePlans(job, ProfileOf(job, batching, c), c, hooks_.stop);
    return std::all_of(stages.begin(), stages.end(),
                       [](const StagePlan& stage) { return stage.free_bytes() >= 0; });
  }

  static LayerProfile ProfileOf(const Job& job, const Batching& batching, const Candidate& c) {
    LayerProfile profile = BuildLayerProfile(job, c.parallelism, batching.mean, batching.largest);
    profile.setting = c.setting;
    return profile;
  }

  // Returns the candidate's step with the share, or nullopt if the host lacks room for it.
  std::optional<int64_t> StepWith(const Batching& batching, const Candidate& c,
                                  int64_t share) const {
    const Job job = WithOffload(job_, ShareOf(share));
    const LayerProfile profile = ProfileOf(job, batching, c);
    const size_t stages = static_cast<size_t>(c.parallelism.pipeline);
    for (size_t s = 0; s < stages; ++s) {
      std::vector<ChunkLoad> loads;
      for (size_t k = s; k < c.stages.size(); k += stages) loads.push_back({c.stages[k].counts, 0});
      if (!HostHasRoom(profile, loads)) return std::nullopt;
    }
    const Candidate with =
        Evaluate(job, profile, c.parallelism, c.micro_batches, c.boundaries, c.recomputed,
                 DealtPacks(batching, c.parallelism.data, c.micro_batches, hooks_.stop), c.schedule,
                 hooks_.stop);
    return ScaleToBatch(with.step.total_ns(),
                        batching.packs_per_step(job.training.global_batch_samples), c.micro_batches,
                        c.parallelism.data);
  }

  const Job& job_;
  const PlanHooks& hooks_;
  const SearchWork limits_;
  std::vector<Range> ranges_;  // that may hold a better share
  int64_t best_ = 0, best_ns_ = 0;
  int searches_ = 0;
};

}  // namespace

Job WithOffload(const Job& job, double ratio) {
  Job with = job;
  with.training.offload.choose = false;
  with.training.offload.ratio = with.training.offload.charged_ratio = ratio;
  return with;
}

Job WithBestOffload(const Job& job, const PlanHooks& hooks, const SearchWork& limits) {
  const int64_t share = ShareSearch(job, hooks, limits).Run();
  return WithOffload(job, static_cast<double>(share) / static_cast<double>(kWhole));
}

std::optional<OffloadPlan> OffloadOf(const Job& job, const Batching& batching, const Candidate& c,
                                     const std::vector<StagePlan>& stages) {
  if (!job.training.offload.asked) return std::nullopt;
  OffloadPlan plan{.ratio = job.training.offload.ratio,
                   .host_capacity_bytes = HostOf(job.cluster).memory_bytes};
  const int64_t per_node = job.cluster.gpus_per_node;
  const LayerProfile none =
      BuildLayerProfile(WithOffload(job, 0), c.parallelism, batching.mean, batching.largest);
  for (size_t s = 0; s < stages.size(); ++s) {
    int64_t optimizer = 0;
    for (size_t k = s; k < c.stages.size(); k += stages.size()) {
      for (size_t of = 0; of < none.classes.size(); ++of)
        optimizer += c.stages[k].counts[of] * none.classes[of].optimizer_bytes;
    }
    plan.gpu_bytes = std::max(plan.gpu_bytes, optimizer - stages[s].memory.optimizer);
    plan.host_bytes = std::max(plan.host_bytes, per_node * stages[s].offloaded_bytes);
  }
  const SimulatedStep on_gpu =
      MeanPackStep(WithOffload(job, 0), c.parallelism, c.shape(), c.stages);
  plan.added_ns = std::max<int64_t>(0, c.step.optimizer_ns - on_gpu.optimizer_ns);
  plan.step_ns =
      ScaleToBatch(c.step.total_ns(), batching.packs_per_step(job.training.global_batch_samples),
                   c.micro_batches, c.parallelism.data);
  return plan;
}

}  // namespace evenkeel::planner
