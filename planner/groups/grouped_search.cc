#include "planner/groups/grouped_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "planner/base/integers.h"
#include "planner/candidates/bounds.h"
#include "planner/cost/memory.h"
#include "planner/cost/model_flops.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/packing/dealt_packs.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/methods.h"
#include "planner/partition/segment_table.h"

namespace evenkeel::planner {
namespace {

// Families whose classes are all timed, each in a few ms, and simulated passes for timing them:
// about a second.
constexpr size_t kFamiliesAtMost = 64;
constexpr int64_t kGroupWorkAtMost = 20'000'000;
constexpr size_t kSplitsInFull = 3;   // splits planned with real packs
constexpr size_t kLeadersAtMost = 3;  // groups whose best partition is tried for all

// A split of the model, and its groups.
struct GroupedSplit {
  Family family;
  GroupSet chosen, published, exact;
};

class GroupedSearch {
 public:
  // `least_data` as in GroupSteps.
  GroupedSearch(const Job& job, const LengthClasses& classes, const Stop& stop,
                const std::vector<Parallelism>& first, int64_t least_data)
      : job_(job),
        classes_(classes),
        stop_(stop),
        first_(first),
        least_data_(least_data),
        work_{kGroupWorkAtMost, stop} {}

  GroupedSearchResult Run() {
    std::vector<Family> later;
    for (Promising& next : Promise(later)) {
      if (looked_at_ >= kFamiliesAtMost || work_.over) {
        ++result_.parallelisms_unsearched;
      } else {
        Consider(std::move(next.family), /*bounds=*/true);
      }
      if (Stopped()) return std::move(result_);
    }
    Trim();
    const std::vector<GroupedSplit> plain = splits_;
    work_ = {kGroupWorkAtMost, stop_};
    for (Family& family : later) {
      const bool wanted = std::any_of(plain.begin(), plain.end(), [&](const GroupedSplit& p) {
        return SameSplit(p.family.front(), family.front());
      });
      if (wanted && !work_.over) Consider(std::move(family), /*bounds=*/false);
      if (Stopped()) return std::move(result_);
    }
    Trim();
    for (const GroupedSplit& split : splits_) {
      PlanInFull(split);
      if (Stopped()) return std::move(result_);
    }
    if (result_.parallelisms_unsearched > 0) bound_ = std::min(bound_, PeakEpoch());
    // Without the plan's own epoch, there is nothing to compare a bound with.
    const bool comparable =
        std::all_of(result_.runs.begin(), result_.runs.end(),
                    [](const GroupRun& run) { return !run.mean_packs.segments.empty(); });
    if (comparable && std::isfinite(bound_)) result_.epoch_bound_ns = bound_;
    return std::move(result_);
  }

 private:
  bool Stopped() { return result_.stopped = result_.stopped || stop_(); }

  static bool SameSplit(const Parallelism& a, const Parallelism& b) {
    return a.tensor == b.tensor && a.pipeline == b.pipeline && a.expert == b.expert;
  }
  int64_t LeastVirtualStages(const Family& family) const {
    return family.front().pipeline == 1 ? 1 : job_.constraints.virtual_stages.min;
  }

  struct Promising {
    Family family;
    double ns_per_token = 0;  // one group for all samples, even stages, no recompute
  };

  // Returns the families that may fit, the best first. Families with virtual stages are only tried
  // for the best splits and go to `later`.
  std::vector<Promising> Promise(std::vector<Family>& later) {
    std::vector<Promising> all;
    for (Family& family : Families(job_)) {
      if (stop_()) return all;
      ++result_.parallelisms;
      if (family.front().virtual_stages > LeastVirtualStages(family)) {
        later.push_back(std::move(family));
        continue;
      }
      const double estimate = Estimate(family);
      if (estimate > 0) {
        all.push_back({std::move(family), estimate});
      } else {
        ++result_.parallelisms_unfit;
      }
    }
    const auto asked = [&](const Promising& p) {
      return std::any_of(first_.begin(), first_.end(),
                         [&](const Parallelism& q) { return SameSplit(p.family.front(), q); });
    };
    std::stable_sort(all.begin(), all.end(), [&](const Promising& a, const Promising& b) {
      const bool x = asked(a), y = asked(b);
      return x != y ? x : a.ns_per_token < b.ns_per_token;
    });
    return all;
  }

  // Returns ns per token, or 0 if weights, gradients and optimizer alone do not fit.
  double Estimate(const Family& family) const {
    const Parallelism& p = family.back();
    const ClassPacks& packs = classes_.Packs(0, classes_.size() - 1);
    const LayerProfile profile = BuildLayerProfile(job_, p, packs.mean, packs.largest);
    int64_t bytes = 0;
    for (int64_t i = 0; i < profile.size(); ++i) bytes += profile.at(i).static_bytes();
    if (bytes / p.pipeline > AllocatableBytes(job_)) return 0;
    const ChainWork work = ChainWorkOf(profile);
    const int64_t m = MicroBatches(StepTokens(job_, classes_) / packs.mean.tokens, p.data);
    const int64_t step =
        PipelineEstimate(work, p, ScheduleOf(job_.constraints, p), m, LeastSend(job_, p, work)) +
        SyncBound(job_, profile, p);
    return D(step) / (D(m * p.data) * packs.mean.tokens);
  }

  void Consider(Family family, bool bounds) {
    ++looked_at_;
    GroupedSplit split{.family = std::move(family)};
    GroupSteps steps(job_, classes_, split.family, GroupBatch::kGlobal, &work_, least_data_);
    GroupSteps alone(job_, classes_, split.family, GroupBatch::kOnePackPerRank, &work_);
    split.exact = ExactGroups(steps, classes_);
    split.published = PublishedGroups(alone, steps, classes_);
    const double bound = bounds ? EpochBound(steps, classes_) : bound_;
    if (work_.over) {
      if (bounds) ++result_.parallelisms_unsearched;
      return;
    }
    bound_ = std::min(bound_, bound);
    result_.examined_sets += split.exact.examined;
    split.chosen =
        job_.training.group_selection == GroupSelection::kPublished ? split.published : split.exact;
    if (split.chosen.groups.empty()) {
      ++result_.parallelisms_unfit;
    } else {
      splits_.push_back(std::move(split));
    }
  }

  // Returns a lower bound on the epoch of every split, in ns.
  double PeakEpoch() const {
    const ClassSums all = classes_.Sums(0, classes_.size() - 1);
    return 1e9 * LeastSeconds(job_, all.sum / all.samples, all.samples);
  }

  void Trim() {
    std::stable_sort(splits_.begin(), splits_.end(),
                     [](const GroupedSplit& a, const GroupedSplit& b) {
                       return a.chosen.epoch_ns < b.chosen.epoch_ns;
                     });
    if (splits_.size() > kSplitsInFull) splits_.resize(kSplitsInFull);
  }

  void PlanInFull(const GroupedSplit& split) {
    std::vector<GroupData> data = MakeGroupData(job_, classes_, split.chosen, stop_);
    std::vector<GroupRun> runs;
    double filled_ns = 0;
    int64_t samples = 0;  // samples of the shortest groups, if longer groups use up all of them
    for (size_t g = 0; g < data.size(); ++g) {
      samples += data[g].samples;
      ChosenGroup group = split.chosen.groups[g];
      if (data[g].packs == 0) {
        filled_ns += group.tokens * group.step.ns_per_token();
        continue;
      }
      if (runs.empty()) group.from = 0;
      data[g].samples = std::exchange(samples, 0);
      const Parallelism& p = group.step.parallelism;
      const Batching& batching = data[g].batching;
      LayerProfile profile = BuildLayerProfile(job_, p, batching.mean, batching.largest);
      Candidate candidate{.parallelism = p,
                          .schedule = ScheduleOf(job_.constraints, p),
                          .micro_batches = group.step.micro_batches};
      runs.push_back({group, std::move(data[g]), std::move(profile), std::move(candidate)});
    }
    if (!Cut(runs) || Stopped()) return;
    double epoch = 0;
    for (GroupRun& run : runs) {
      const Candidate& c = run.candidate;
      run.candidate.step =
          SimulateStep(job_, c.parallelism, c.shape(), c.segments,
                       DealtPacks(run.data.batching, c.parallelism.data, c.micro_batches, stop_),
                       kEventsAtMost, stop_);
      epoch += D(run.data.steps) * D(run.candidate.step.total_ns());
    }
    if (!result_.runs.empty() && epoch >= result_.epoch_ns) return;
    for (GroupRun& run : runs) CutMeanPacks(run);
    result_.runs = std::move(runs);
    result_.epoch_ns = epoch;
    result_.filled_ns = filled_ns;
    result_.published = split.published;
    result_.exact = split.exact;
  }

  // Finds one partition for all groups: of the partitions that are best for one group, the one with
  // the shortest epoch of mean packs. Returns false if none fits all groups.
  bool Cut(std::vector<GroupRun>& runs) const {
    std::vector<size_t> leaders(runs.size());
    for (size_t i = 0; i < runs.size(); ++i) leaders[i] = i;
    std::stable_sort(leaders.begin(), leaders.end(), [&](size_t a, size_t b) {
      return D(runs[a].data.steps) * D(runs[a].group.step.step_ns) >
             D(runs[b].data.steps) * D(runs[b].group.step.step_ns);
    });
    leaders.resize(std::min(leaders.size(), kLeadersAtMost));
    std::vector<GroupRun> best;
    double least = std::numeric_limits<double>::infinity();
    for (const size_t leader : leaders) {
      const std::vector<int64_t> boundaries = BestCut(runs[leader]);
      if (boundaries.empty()) continue;
      std::vector<GroupRun> cut = runs;
      double epoch = 0;
      const bool fits = std::all_of(cut.begin(), cut.end(), [&](GroupRun& run) {
        run.candidate.boundaries = boundaries;
        if (!CompleteChunks(job_, run.profile, run.candidate)) return false;
        epoch += D(run.data.steps) * D(run.candidate.score_ns);
        return true;
      });
      if (!fits || epoch >= least) continue;
      least = epoch;
      best = std::move(cut);
    }
    if (best.empty()) return false;
    runs = std::move(best);
    return true;
  }

  // Times the run's cut with the packs by which the group was chosen. Their largest pack may be
  // larger than all of the run's packs; if it does not fit, mean_packs stays empty.
  void CutMeanPacks(GroupRun& run) const {
    const ClassPacks& packs = classes_.Packs(run.group.timed_from, run.group.to);
    const Candidate& c = run.candidate;
    const LayerProfile profile = BuildLayerProfile(job_, c.parallelism, packs.mean, packs.largest);
    Candidate mean{.parallelism = c.parallelism,
                   .schedule = c.schedule,
                   .micro_batches = c.micro_batches,
                   .boundaries = c.boundaries};
    if (CompleteChunks(job_, profile, mean)) {
      mean.step = MeanPackStep(job_, mean.parallelism, mean.shape(), mean.segments);
      run.mean_packs = std::move(mean);
    }
  }

  // Returns the boundaries that are best for a run; empty if nothing fits.
  std::vector<int64_t> BestCut(const GroupRun& run) const {
    const Candidate& c = run.candidate;
    const Parallelism& p = c.parallelism;
    const std::optional<Candidate> even =
        EvenOrFittingChunks(job_, run.profile, p, c.schedule, c.micro_batches);
    if (!even || p.pipeline == 1 || !job_.constraints.stage_layers.empty())
      return even ? even->boundaries : std::vector<int64_t>{};
    if (c.schedule != Schedule::kOneFOneB) {
      Candidate improved = *even;
      ImproveChunks(job_, run.profile, improved, stop_);
      return improved.boundaries;
    }
    const SegmentTable table(job_, run.profile, p, c.micro_batches);
    if (job_.constraints.partition_method != PartitionMethod::kExact)
      return PartitionBy(job_.constraints.partition_method, table, stop_);
    return CertifyPartition(table, {even->boundaries}, {}, stop_).boundaries;
  }

  const Job& job_;
  const LengthClasses& classes_;
  const Stop stop_;
  const std::vector<Parallelism>& first_;
  const int64_t least_data_;
  GroupWork work_;
  std::vector<GroupedSplit> splits_;
  size_t looked_at_ = 0;
  double bound_ = std::numeric_limits<double>::infinity();
  GroupedSearchResult result_;
};

}  // namespace

double GroupRun::steps() const { return group.tokens / group.step.tokens; }

GroupedSearchResult SearchGroups(const Job& job, const LengthClasses& classes, const Stop& stop,
                                 const std::vector<Parallelism>& first) {
  // A split whose every degree trains on a larger batch only counts if no other fits.
  int64_t least_data = std::numeric_limits<int64_t>::max();
  for (const Family& family : Families(job)) least_data = std::min(least_data, family.back().data);
  GroupedSearchResult found = GroupedSearch(job, classes, stop, first, least_data).Run();
  if (found.stopped || !found.runs.empty()) return found;
  return GroupedSearch(job, classes, stop, first, 0).Run();
}

}  // namespace evenkeel::planner
