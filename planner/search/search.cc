#include "planner/search/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/memory.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/methods.h"
#include "planner/search/bounds.h"
#include "planner/search/chunked_partition.h"
#include "planner/search/refine.h"
#include "planner/simulate/pipeline_bound.h"

namespace evenkeel::planner {
namespace {

// Segments of 1F1B and passes of other schedules that are looked at before those parallelisms that
// are left are dismissed unsearched: about a second of work.
constexpr int64_t kWorkAtMost = 8'000'000;

// Forwards simulated to compare the starts of a refinement with each other.
constexpr int64_t kEventsPerStart = 30000;

// Degrees, virtual stages apart: what plans that are kept differ in.
auto DegreesOf(const Parallelism& p) {
  return std::tuple(p.tensor, p.context, p.pipeline, p.data, p.expert);
}

// Layer profiles of one job, each built once: they depend on the degrees, on pipeline only as far
// as there is one, and on virtual stages for memory alone.
class Profiles {
 public:
  struct Entry {
    LayerProfile profile;
    ChainWork work;
  };
  Profiles(const Job& job, const Batching& batching) : job_(job), batching_(batching) {}

  const Entry& Of(const Parallelism& p) {
    const auto [at, added] = entries_.try_emplace(
        std::tuple(p.tensor, p.context, p.data, p.expert, p.pipeline == 1 ? 0 : p.virtual_stages));
    if (added) {
      at->second.profile = BuildLayerProfile(job_, p, batching_.mean, batching_.largest);
      at->second.work = WorkOf(at->second.profile);
    }
    return at->second;
  }

 private:
  const Job& job_;
  const Batching& batching_;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>, Entry> entries_;
};

// The fullest stage holds at least its share of weights, gradients and optimizer.
bool HoldsItsShare(const Job& job, const LayerProfile& profile, const Parallelism& p) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < profile.size(); ++i) bytes += profile.at(i).static_bytes();
  return bytes / p.pipeline <= AllocatableBytes(job.cluster);
}

class Searcher {
 public:
  Searcher(const Job& job, const Batching& batching, int64_t keep,
           const std::function<bool()>& stop, int64_t beat_ns)
      : job_(job),
        batching_(batching),
        keep_(static_cast<size_t>(keep)),
        stop_(stop),
        beat_ns_(beat_ns),
        packs_per_step_(batching.packs_per_step(job.training.global_batch_samples)),
        profiles_(job, batching) {}

  SearchResult Run() {
    // The most promising first, so that the bound dismisses most of the others.
    std::vector<Prospect> prospects;
    for (const Parallelism& p : Parallelisms(job_, packs_per_step_)) {
      if (Stopped()) return std::move(result_);
      // Of those that differ in virtual stages alone, what is known of one is known of all.
      const bool same =
          !prospects.empty() && DegreesOf(prospects.back().parallelism) == DegreesOf(p);
      prospects.push_back(MakeProspect(p, same ? &prospects.back() : nullptr));
    }
    std::stable_sort(prospects.begin(), prospects.end(), [](const Prospect& a, const Prospect& b) {
      return a.estimate_ns < b.estimate_ns;
    });
    for (const Prospect& prospect : prospects) {
      Consider(prospect);
      if (Stopped()) return std::move(result_);
    }
    for (Candidate& c : result_.best) Simulate(c);
    // By the time of an epoch in whole steps; then by the step.
    const auto key = [this](const Candidate& c) {
      const int64_t steps = CeilDivide(batching_.rule.packs, c.micro_batches * c.parallelism.data);
      return std::pair(static_cast<double>(steps) * static_cast<double>(c.step.total_ns()),
                       c.simulated_ns);
    };
    std::stable_sort(result_.best.begin(), result_.best.end(),
                     [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
    if (!result_.best.empty() && !Stopped()) RefineWinner(result_.best.front());
    return std::move(result_);
  }

 private:
  struct Prospect {
    Parallelism parallelism;
    Schedule schedule = Schedule::kOneFOneB;
    int64_t micro_batches = 0;
    const LayerProfile* profile = nullptr;
    int64_t least_send_ns = 0;
    int64_t sync_bound_ns = 0;
    int64_t step_bound_ns = 0;  // scaled, with sync
    int64_t estimate_ns = 0;    // likewise
  };

  bool Stopped() {
    result_.stopped = result_.stopped || (stop_ && stop_());
    return result_.stopped;
  }

  Prospect MakeProspect(const Parallelism& p, const Prospect* alike) {
    // Times and shares of the memory are those of one chunk.
    Parallelism one_chunk = p;
    one_chunk.virtual_stages = 1;
    const Profiles::Entry& entry = profiles_.Of(one_chunk);
    Prospect prospect{.parallelism = p,
                      .schedule = ScheduleOf(job_.constraints, p),
                      .micro_batches = MicroBatches(packs_per_step_, p.data),
                      .profile = &entry.profile};
    prospect.least_send_ns = alike ? alike->least_send_ns : LeastSend(job_, p, entry.work);
    prospect.sync_bound_ns = alike ? alike->sync_bound_ns : SyncBound(job_, entry.profile, p);
    const auto step = [&](auto pipeline_time) {
      const int64_t pipeline = pipeline_time(entry.work, p, prospect.schedule,
                                             prospect.micro_batches, prospect.least_send_ns);
      return Scale(prospect, pipeline + prospect.sync_bound_ns);
    };
    prospect.step_bound_ns = step(PipelineBound);
    prospect.estimate_ns = step(PipelineEstimate);
    return prospect;
  }

  int64_t Scale(const Prospect& prospect, int64_t step_ns) const {
    return ScaleToBatch(step_ns, packs_per_step_, prospect.micro_batches,
                        prospect.parallelism.data);
  }

  void Bound(int64_t step_ns) {
    int64_t& lower = result_.proof.lower_bound_ns;
    if (lower == 0 || step_ns < lower) lower = step_ns;
  }

  // What a plan of these degrees must be quicker than to be kept.
  int64_t ScoreToBeat(const Parallelism& p) const {
    int64_t score = beat_ns_ > 0 ? beat_ns_ : std::numeric_limits<int64_t>::max();
    if (result_.best.size() == keep_) score = std::min(score, result_.best.back().score_ns);
    for (const Candidate& c : result_.best) {
      if (DegreesOf(c.parallelism) == DegreesOf(p)) score = std::min(score, c.score_ns);
    }
    return score;
  }

  void Consider(const Prospect& prospect) {
    Proof& proof = result_.proof;
    ++proof.parallelisms;
    const Parallelism& p = prospect.parallelism;
    if (!HoldsItsShare(job_, *prospect.profile, p)) {
      ++proof.parallelisms_unfit;
      return;
    }
    if (prospect.step_bound_ns >= ScoreToBeat(p)) {
      ++proof.parallelisms_pruned;
      return Bound(prospect.step_bound_ns);
    }
    if (prospect.schedule != Schedule::kOneFOneB) return SearchChunks(prospect);
    work_ += Segments(job_, *prospect.profile, p, prospect.micro_batches).count();
    if (work_ > kWorkAtMost && !result_.best.empty()) return LeaveUnsearched(prospect);
    SearchPartitions(prospect);
  }

  void LeaveUnsearched(const Prospect& prospect) {
    ++result_.proof.parallelisms_unsearched;
    result_.proof.end = SearchEnd::kWorkLimit;
    Bound(prospect.step_bound_ns);
  }

  // Of schedules other than 1F1B the best found.
  void SearchChunks(const Prospect& prospect) {
    const Parallelism& p = prospect.parallelism;
    work_ += 4 * prospect.micro_batches * p.pipeline * p.virtual_stages;
    if (work_ > kWorkAtMost && !result_.best.empty()) return LeaveUnsearched(prospect);
    std::optional<Candidate> found = EvenChunks(job_, profiles_.Of(p).profile, p, prospect.schedule,
                                                prospect.micro_batches, stop_);
    if (Stopped()) return;
    // That two partitions do not fit says nothing of others.
    if (!found) return LeaveUnsearched(prospect);
    found->score_ns = Scale(prospect, found->score_ns);
    found->bound_ns = prospect.step_bound_ns;
    if (found->score_ns < ScoreToBeat(p)) {
      Insert(std::move(*found));
    } else {
      Bound(prospect.step_bound_ns);
    }
  }

  // What a published method makes of the parallelism. The bound is that of all partitions.
  void PartitionByName(const Prospect& prospect, const SegmentTable& table) {
    const Parallelism& p = prospect.parallelism;
    Candidate c{.parallelism = p, .micro_batches = prospect.micro_batches};
    c.boundaries = PartitionBy(job_.constraints.partition_method, table, stop_);
    if (Stopped()) return;
    ++result_.proof.partitions_examined;
    if (c.boundaries.empty() || !FillStages(table, c)) {
      ++result_.proof.parallelisms_unfit;
      return;
    }
    c.closed_form_optimum_ns = ClosedForm(c.stages, c.micro_batches);
    c.score_ns = Scale(prospect, UnscaledStep(c));
    c.bound_ns = prospect.step_bound_ns;
    if (c.score_ns < ScoreToBeat(p)) {
      Insert(std::move(c));
    } else {
      Bound(c.bound_ns);
    }
  }

  // The best partition of the parallelism, and a bound on all of them.
  void SearchPartitions(const Prospect& prospect) {
    Proof& proof = result_.proof;
    const Parallelism& p = prospect.parallelism;
    const int64_t m = prospect.micro_batches;
    const SegmentTable table(job_, *prospect.profile, p, m);
    if (job_.constraints.partition_method != PartitionMethod::kExact)
      return PartitionByName(prospect, table);
    PartitionSearch found = FindPartition(table, m, stop_);
    result_.stopped = found.stopped;
    proof.partitions_examined += found.states;
    if (found.stopped) return;
    if (!found.best) {
      ++proof.parallelisms_unfit;
      return;
    }
    Candidate c = Complete(table, std::move(*found.best));
    c.schedule = prospect.schedule;
    // What no partition can beat; the best few are certified later.
    const int64_t step = UnscaledStep(c);
    c.bound_ns = std::max(prospect.step_bound_ns,
                          Scale(prospect, std::min(step, StepLowerBound(table, step))));
    if (c.score_ns < ScoreToBeat(p)) {
      Insert(std::move(c));
    } else {
      Bound(c.bound_ns);
    }
  }

  Candidate Complete(const SegmentTable& table, Partition partition) const {
    const Parallelism& p = table.parallelism();
    Candidate c{.parallelism = p,
                .micro_batches = table.micro_batches(),
                .boundaries = std::move(partition.boundaries),
                .closed_form_optimum_ns = partition.closed_form_ns};
    // The table holds times alone, to stay small; that all fits is why it was chosen.
    FillStages(table, c);
    c.score_ns = ScaleToBatch(UnscaledStep(c), packs_per_step_, c.micro_batches, p.data);
    return c;
  }

  // With mean packs, data sync and optimizer.
  int64_t UnscaledStep(const Candidate& c) const {
    return MeanPackStep(job_, c.parallelism, c.shape(), c.stages).total_ns();
  }

  // Recompute and stages of the candidate's boundaries. False: they are not allowed, or do not fit.
  bool FillStages(const Segments& segments, Candidate& c) const {
    c.recomputed.clear();
    for (int64_t s = 0; s < segments.stages(); ++s) {
      const int64_t begin = c.boundaries[static_cast<size_t>(s)],
                    end = c.boundaries[static_cast<size_t>(s) + 1];
      if (!segments.Allowed(s, begin, end)) return false;
      const auto choice = segments.Recompute(s, begin, end);
      if (!choice) return false;
      c.recomputed.push_back(choice->recomputed);
    }
    c.stages = StageWorks(job_, segments.profile(), c.parallelism, c.boundaries, c.recomputed);
    return true;
  }

  // Keeps the best few, one of each degrees; ties go to the earlier parallelism. REQUIRES that it
  // beats ScoreToBeat().
  void Insert(Candidate c) {
    std::vector<Candidate>& best = result_.best;
    std::erase_if(best, [&](const Candidate& other) {
      const bool same = DegreesOf(other.parallelism) == DegreesOf(c.parallelism);
      if (same) Bound(other.bound_ns);
      return same;
    });
    const auto at = std::upper_bound(
        best.begin(), best.end(), c,
        [](const Candidate& a, const Candidate& b) { return a.score_ns < b.score_ns; });
    best.insert(at, std::move(c));
    if (best.size() <= keep_) return;
    Bound(best.back().bound_ns);
    best.pop_back();
  }

  // Whether the partition is ours to prove: 1F1B, not cut by a published method.
  bool Certifies(const Candidate& c) const {
    return c.schedule == Schedule::kOneFOneB &&
           job_.constraints.partition_method == PartitionMethod::kExact;
  }

  // The certified partition for mean packs; of that, its neighbours and simpler splits, real packs
  // decide.
  void Simulate(Candidate& c) {
    if (Stopped()) return;
    const LayerProfile& profile = profiles_.Of(c.parallelism).profile;
    const std::vector<PackShape> packs = DealtPacks(batching_, c.parallelism.data, c.micro_batches);
    if (c.schedule != Schedule::kOneFOneB) {
      c.score_ns = UnscaledStep(c);
      ImproveChunks(job_, profile, c, stop_);
      c.score_ns = ScaleToBatch(c.score_ns, packs_per_step_, c.micro_batches, c.parallelism.data);
    }
    if (!Certifies(c)) {
      Bound(c.bound_ns);
      c.step = SimulateStep(job_, c.parallelism, c.shape(), c.stages, packs);
      return ScaleStep(c);
    }
    const SegmentTable table(job_, profile, c.parallelism, c.micro_batches);
    std::vector<Candidate> starts{c};
    for (std::vector<int64_t> boundaries : {SplitByLayers(profile, c.parallelism.pipeline),
                                            SplitByParameters(profile, c.parallelism.pipeline)}) {
      Candidate start = c;
      start.boundaries = std::move(boundaries);
      if (FillStages(table, start)) starts.push_back(std::move(start));
    }
    Certify(table, starts);
    c.bound_ns = starts.front().bound_ns;
    Bound(c.bound_ns);
    int64_t best = 0;
    for (const Candidate& start : starts) {
      const int64_t step =
          SimulateStep(job_, start.parallelism, start.shape(), start.stages, packs, kEventsPerStart)
              .total_ns();
      if (best != 0 && step >= best) continue;
      best = step;
      c = start;
    }
    c.step = SimulateStep(job_, c.parallelism, c.shape(), c.stages, packs);
    ScaleStep(c);
  }

  // Puts the certified partition in front of the starts, and what is proven of it into it.
  void Certify(const SegmentTable& table, std::vector<Candidate>& starts) {
    std::vector<std::vector<int64_t>> boundaries;
    for (const Candidate& start : starts) boundaries.push_back(start.boundaries);
    const CertifiedPartition found = CertifyPartition(table, boundaries, {}, stop_);
    result_.stopped = result_.stopped || found.end == CertifiedEnd::kStopped;
    result_.proof.partitions_examined += found.nodes;
    if (found.boundaries.empty()) return;
    Candidate certified = starts.front();
    certified.boundaries = found.boundaries;
    FillStages(table, certified);
    certified.score_ns = ScaleToBatch(found.step_ns, packs_per_step_, certified.micro_batches,
                                      certified.parallelism.data);
    certified.bound_ns = std::max(
        certified.bound_ns, ScaleToBatch(found.lower_bound_ns, packs_per_step_,
                                         certified.micro_batches, certified.parallelism.data));
    starts.insert(starts.begin(), std::move(certified));
  }

  void RefineWinner(Candidate& c) {
    if (!Certifies(c)) return;
    const LayerProfile& profile = profiles_.Of(c.parallelism).profile;
    RefineByRealPacks(SegmentTable(job_, profile, c.parallelism, c.micro_batches),
                      DealtPacks(batching_, c.parallelism.data, c.micro_batches), c, stop_);
    ScaleStep(c);
    Stopped();
  }

  void ScaleStep(Candidate& c) const {
    c.simulated_ns =
        ScaleToBatch(c.step.total_ns(), packs_per_step_, c.micro_batches, c.parallelism.data);
  }

  const Job& job_;
  const Batching& batching_;
  const size_t keep_;
  const std::function<bool()>& stop_;
  const int64_t beat_ns_;
  const double packs_per_step_;
  Profiles profiles_;
  int64_t work_ = 0;  // done so far
  SearchResult result_;
};

}  // namespace

SearchResult Search(const Job& job, const Batching& batching, int64_t keep,
                    const std::function<bool()>& stop, int64_t beat_ns) {
  return Searcher(job, batching, keep, stop, beat_ns).Run();
}

Candidate Evaluate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, std::vector<int64_t> boundaries,
                   std::vector<ModeCounts> recomputed, const std::vector<PackShape>& packs,
                   Schedule schedule) {
  Candidate c{.parallelism = p, .schedule = schedule, .micro_batches = micro_batches};
  c.boundaries = std::move(boundaries);
  c.recomputed = std::move(recomputed);
  c.stages = StageWorks(job, profile, p, c.boundaries, c.recomputed);
  c.step = SimulateStep(job, p, c.shape(), c.stages, packs);
  return c;
}

int64_t ScheduleBound(const Candidate& candidate) {
  return PipelineLowerBound(MeanPackPipeline(candidate.shape(), candidate.stages));
}

int64_t ClosedForm(const std::vector<StageWork>& stages, int64_t micro_batches) {
  int64_t slowest = 0, sum = 0;
  for (const StageWork& s : stages) {
    const int64_t time = s.forward_ns + s.backward_ns + s.recompute_ns + 2 * s.send_ns;
    slowest = std::max(slowest, time);
    sum += time;
  }
  return (micro_batches - 1) * slowest + sum;
}

}  // namespace evenkeel::planner
