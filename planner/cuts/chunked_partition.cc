#include "planner/cuts/chunked_partition.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/candidates/parallelisms.h"
#include "planner/candidates/work_limits.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/cuts/chunked_recompute.h"
#include "planner/cuts/cuts_below.h"
#include "planner/cuts/even_cuts.h"
#include "planner/cuts/host_loads.h"
#include "planner/cuts/least_memory.h"
#include "planner/cuts/refine.h"
#include "planner/cuts/stage_needs.h"
#include "planner/partition/segments.h"
#include "planner/simulate/held_passes.h"
#include "planner/simulate/mean_pack_bound.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kPassesAtMost = 1'000'000;  // passes simulated to improve one candidate
constexpr int64_t kMovesWhenBrief = 100;      // made to improve one candidate briefly
constexpr int64_t kEventsPerScore = 3000;
// If a simulation takes no more passes than this, runs of boundaries are moved too.
constexpr int64_t kPassesOfRuns = 2000;
constexpr int64_t kPassesOfAllCuts = 1'000'000;  // if FewCuts: to look at all of them
constexpr int64_t kUnevenCutsAtMost = 500;  // up to these layers x segments, uneven cuts are tried

using MakeCut = std::function<std::vector<int64_t>()>;

class Chunks {
 public:
  Chunks(const Job& job, const LayerProfile& profile, const Parallelism& p, Schedule schedule,
         int64_t micro_batches, const Stop& stop = {}, PassLists* lists = nullptr,
         const std::vector<PackShape>* packs = nullptr)
      : job_(job),
        profile_(profile),
        p_(p),
        shape_(ShapeOf(p, schedule, micro_batches)),
        network_(job.cluster, job.constants),
        stop_(stop),
        allocatable_(AllocatableBytes(job)),
        packs_(packs),
        lists_(lists),
        cache_(job, p_, lists),
        bound_(job, shape_, packs_ == nullptr ? kEventsPerScore : kEventsAtMost) {
    for (int64_t s = 0; s < p.pipeline; ++s) held_.push_back(MostHeld(shape_, s));
    if (job.training.activations.modules != 0) peaks_ = PeaksOf(shape_, stop, lists);
  }

  // Fills in recompute, segments and score. Returns false if the cut does not fit, or its score is
  // certainly not below `limit`.
  bool Complete(Candidate& c, int64_t limit = kNoPlan) const {
    c.recomputed.assign(static_cast<size_t>(shape_.virtual_stages()), {});
    for (size_t s = 0; s < static_cast<size_t>(p_.pipeline); ++s)
      if (!ChooseRecompute(c, s)) return false;
    c.segments = WorkOfSegments(job_, profile_, p_, c.boundaries, c.recomputed);
    if (limit < kNoPlan && StepAtLeast(c) >= limit) return false;
    Simulate(c);
    return true;
  }

  // Completes a cut that differs from a complete one in the segments [first, last]. Returns false
  // if it does not fit, or certainly is no quicker.
  bool CompleteMoved(Candidate& moved, const Candidate& complete, size_t first, size_t last) const {
    const size_t stages = static_cast<size_t>(p_.pipeline);
    const auto set_work = [&](size_t segment) {
      moved.segments[segment] = WorkOfSegment(network_, profile_, p_, moved.boundaries, segment,
                                              moved.recomputed[segment]);
    };
    // A stage without recompute probably stays so, and a bound is cheaper to compute than its
    // memory.
    bool recomputes = false;
    ForStagesOf(first, last, [&](size_t segment) {
      recomputes = recomputes || complete.recomputed[segment] != ModeCounts{};
    });
    if (!recomputes) {
      for (size_t segment = first; segment <= last; ++segment) set_work(segment);
      if (StepAtLeast(moved) >= complete.score_ns) return false;
    }
    for (size_t segment = first; segment <= std::min(last, first + stages - 1); ++segment)
      if (!ChooseRecompute(moved, segment % stages)) return false;
    bool changed = recomputes;
    ForStagesOf(first, last, [&](size_t segment) {
      const bool other = moved.recomputed[segment] != complete.recomputed[segment];
      if (other || (recomputes && segment >= first && segment <= last)) set_work(segment);
      changed = changed || other;
    });
    if (changed && StepAtLeast(moved) >= complete.score_ns) return false;
    Simulate(moved);
    return true;
  }

  // Undoes a move, complete or not.
  void TakeBack(Candidate& moved, const Candidate& complete, size_t first, size_t last) const {
    ForStagesOf(first, last, [&](size_t segment) {
      moved.recomputed[segment] = complete.recomputed[segment];
      moved.segments[segment] = complete.segments[segment];
    });
    moved.boundaries = complete.boundaries;
    moved.score_ns = complete.score_ns;
  }

  int64_t SlowestStage(const Candidate& c) const {
    const std::vector<int64_t> stages = StageLoads(shape_, c.segments);
    return std::max_element(stages.begin(), stages.end()) - stages.begin();
  }

  // Chooses the least recompute of one stage's chunks. Returns false if they do not fit.
  bool ChooseRecompute(Candidate& c, size_t s) const {
    const size_t stages = static_cast<size_t>(p_.pipeline),
                 chunks = static_cast<size_t>(p_.virtual_stages);
    std::vector<ChunkLoad> loads;
    loads.reserve(chunks);
    for (size_t k = 0; k < chunks; ++k) {
      const size_t segment = k * stages + s;
      const int64_t begin = c.boundaries[segment], end = c.boundaries[segment + 1];
      loads.push_back({LayersBetween(profile_, begin, end), held_[s][k], begin});
    }
    if (peaks_ != nullptr) CountAtPeaks((*peaks_)[s], loads);
    const auto choice =
        ChunkedLeastRecompute(profile_, loads, allocatable_, job_.constraints.recompute);
    if (!choice) return false;
    for (size_t k = 0; k < chunks; ++k) c.recomputed[k * stages + s] = (*choice)[k];
    return true;
  }

  // Completes a cut with a recompute that fits.
  void Complete(Candidate& c, std::vector<ModeCounts> recomputed) const {
    c.recomputed = std::move(recomputed);
    Score(c);
  }

  void Score(Candidate& c) const {
    c.segments = WorkOfSegments(job_, profile_, p_, c.boundaries, c.recomputed);
    Simulate(c);
  }

  void Simulate(Candidate& c) const {
    const SimulatedStep step =
        packs_ == nullptr
            ? MeanPackStep(job_, p_, shape_, c.segments, &cache_, kEventsPerScore, stop_)
            : SimulateStep(job_, p_, shape_, c.segments, *packs_, kEventsPerRealMove, stop_,
                           lists_);
    c.score_ns = step.total_ns();
  }

  Candidate Cut(std::vector<int64_t> boundaries) const {
    return {.parallelism = p_,
            .schedule = shape_.schedule,
            .micro_batches = shape_.micro_batches,
            .boundaries = std::move(boundaries)};
  }

  std::vector<int64_t> Given() const { return CutAfter(profile_, job_.constraints.stage_layers); }

  std::vector<int64_t> ByLayers() const { return EvenLayerCut(profile_, p_); }
  std::vector<int64_t> ByTime() const { return EvenTimeCut(profile_, p_); }
  std::vector<MakeCut> SimpleCuts() const {
    return {[this] { return ByLayers(); }, [this] { return ByTime(); }};
  }

  // Returns the most passes that one simulation takes.
  int64_t passes() const { return MeanPackPasses(shape_, kEventsPerScore); }

 private:
  // Modules leave one recompute, so what the chunks hold at each moment is known.
  void CountAtPeaks(const std::vector<std::vector<int64_t>>& peaks,
                    std::vector<ChunkLoad>& loads) const {
    std::vector<int64_t> kept;
    for (const ChunkLoad& load : loads) {
      const ModeCounts recomputed = SmallestRecompute(profile_, load, job_.constraints.recompute);
      kept.push_back(MemoryOf(profile_, load.counts, recomputed, 1).activation_bytes);
    }
    const std::vector<int64_t>& held = FullestMoment(peaks, kept);
    for (size_t k = 0; k < loads.size(); ++k) loads[k].in_flight = held[k];
    CountOnHost(profile_, peaks, loads);
  }

  // Visits all segments of the stages that have one of [first, last].
  template <typename Visit>
  void ForStagesOf(size_t first, size_t last, Visit visit) const {
    const size_t stages = static_cast<size_t>(p_.pipeline);
    for (size_t segment = first; segment <= std::min(last, first + stages - 1); ++segment) {
      for (size_t of_stage = segment % stages;
           of_stage < static_cast<size_t>(shape_.virtual_stages()); of_stage += stages)
        visit(of_stage);
    }
  }

  // Returns a lower bound on the score.
  int64_t StepAtLeast(const Candidate& c) const { return bound_.AtLeast(c.segments, cache_); }

  const Job& job_;
  const LayerProfile& profile_;
  const Parallelism p_;
  const PipelineShape shape_;
  const Network network_;
  const Stop stop_;
  const int64_t allocatable_;
  std::vector<std::vector<int64_t>> held_;      // micro-batches by stage and chunk
  std::shared_ptr<const PeaksOfStages> peaks_;  // where modules are in host memory
  const std::vector<PackShape>* const packs_;   // scores are of these; of mean packs if null
  PassLists* const lists_;
  mutable StepCache cache_;
  mutable MeanPackStepBound bound_;
};

}  // namespace

int64_t ChunksWork(const PipelineShape& shape) {
  return 2 * MeanPackPasses(shape, kEventsPerScore);
}

bool CompleteChunks(const Job& job, const LayerProfile& profile, Candidate& candidate) {
  return Chunks(job, profile, candidate.parallelism, candidate.schedule, candidate.micro_batches)
      .Complete(candidate);
}

std::optional<Candidate> EvenChunks(const Job& job, const LayerProfile& profile,
                                    const Parallelism& p, Schedule schedule, int64_t micro_batches,
                                    const Stop& stop, PassLists* lists) {
  const Chunks chunks(job, profile, p, schedule, micro_batches, stop, lists);
  std::vector<std::vector<int64_t>> cuts = {chunks.ByLayers()};
  if (p.pipeline > 1) cuts.push_back(chunks.ByTime());
  if (!job.constraints.stage_layers.empty()) cuts = {chunks.Given()};
  if (cuts.front() == cuts.back()) cuts.resize(1);
  std::optional<Candidate> best;
  for (std::vector<int64_t>& cut : cuts) {
    if (stop()) return std::nullopt;
    Candidate c = chunks.Cut(std::move(cut));
    if (chunks.Complete(c, best ? best->score_ns : kNoPlan) &&
        (!best || c.score_ns < best->score_ns))
      best = std::move(c);
  }
  return best;
}

std::optional<Candidate> FittingChunks(const Job& job, const LayerProfile& profile,
                                       const Parallelism& p, Schedule schedule,
                                       int64_t micro_batches, int64_t trying, const Stop& stop,
                                       PassLists* lists) {
  if (!job.constraints.stage_layers.empty()) return std::nullopt;
  MemoryProspect prospect;
  prospect.parallelism = p;
  prospect.shape = ShapeOf(p, schedule, micro_batches);
  prospect.profile = profile;
  const StageNeeds needs(job, prospect, stop, lists);
  if (p.virtual_stages > 1 && NoRoom(job, prospect, needs)) return std::nullopt;
  LeastFull least = LeastFullest(job, prospect, needs, stop, trying);
  if (!least.found || least.held.allocated > AllocatableBytes(job)) return std::nullopt;
  const Chunks chunks(job, profile, p, schedule, micro_batches, stop, lists);
  Candidate c = chunks.Cut(std::move(least.boundaries));
  if (!chunks.Complete(c)) chunks.Complete(c, LeastMemoryRecompute(job, prospect, c.boundaries));
  return c;
}

std::optional<Candidate> EvenOrFittingChunks(const Job& job, const LayerProfile& profile,
                                             const Parallelism& p, Schedule schedule,
                                             int64_t micro_batches, const Stop& stop,
                                             PassLists* lists) {
  std::optional<Candidate> even = EvenChunks(job, profile, p, schedule, micro_batches, stop, lists);
  return even ? even
              : FittingChunks(job, profile, p, schedule, micro_batches, kCutsTried, stop, lists);
}

namespace {

// Looks for a quicker cut by moving boundaries, singly or in runs.
class Mover {
 public:
  // Looks at no more than `moves` cuts, and counts them down.
  Mover(const Chunks& chunks, const LayerProfile& profile, const Stop& stop, int64_t& moves,
        Candidate& candidate)
      : chunks_(chunks),
        profile_(profile),
        stop_(stop),
        moves_(moves),
        stages_(candidate.shape().stages),
        segments_(candidate.shape().virtual_stages()),
        best_(candidate),
        moved_(candidate) {}

  void Run() {
    while (moves_ > 0 && (SlowestGives() || AnyMoves())) {
    }
  }

  // Also moves runs of boundaries if the pipeline is small.
  void RunThoroughly() {
    const int64_t longest = chunks_.passes() <= kPassesOfRuns ? segments_ - 1 : 1;
    do {
      Run();
    } while (moves_ > 0 && AnyRunMoves(longest));
  }

 private:
  // Moves a layer from the slowest stage to another; segments in between pass one on. Returns false
  // if that never helps.
  bool SlowestGives() {
    const int64_t slowest = chunks_.SlowestStage(best_);
    for (int64_t run = 1; run < std::max<int64_t>(2, stages_); ++run) {
      for (int64_t segment = slowest; segment < segments_; segment += stages_) {
        if (Move(segment + 1, run, -1) || Move(segment - run + 1, run, 1)) return true;
      }
    }
    return false;
  }

  // Returns false if moving a single boundary never helps.
  bool AnyMoves() {
    bool improved = false;
    for (int64_t b = 1; b < segments_; ++b)
      for (const int64_t by : {-1, 1}) improved = Move(b, 1, by) || improved;
    return improved;
  }

  bool AnyRunMoves(int64_t longest) {
    for (int64_t run = 2; run <= longest; ++run) {
      for (int64_t b = 1; b + run <= segments_; ++b)
        if (Move(b, run, -1) || Move(b, run, 1)) return true;
    }
    return false;
  }

  // Moves `run` boundaries from `first` on by one layer. Returns false if not allowed, or no
  // better.
  bool Move(int64_t first, int64_t run, int64_t by) {
    if (first < 1 || first + run > segments_ || moves_ <= 0) return false;
    stop_.Spend(kPassesPerMove);
    const size_t begin = static_cast<size_t>(first), end = static_cast<size_t>(first + run);
    const auto has_layer = [&](size_t i) {
      const int64_t from = best_.boundaries[i - 1] + (i > begin ? by : 0);
      const int64_t to = best_.boundaries[i] + (i < end ? by : 0);
      return HasTransformerLayer(profile_, from, to);
    };
    for (size_t i = begin; i <= end; ++i)
      if (!has_layer(i)) return false;
    --moves_;
    for (size_t i = begin; i < end; ++i) moved_.boundaries[i] += by;
    if (!chunks_.CompleteMoved(moved_, best_, begin - 1, end - 1) ||
        moved_.score_ns >= best_.score_ns) {
      chunks_.TakeBack(moved_, best_, begin - 1, end - 1);
      return false;
    }
    best_ = moved_;
    return true;
  }

  const Chunks& chunks_;
  const LayerProfile& profile_;
  const Stop& stop_;
  int64_t& moves_;
  const int64_t stages_, segments_;
  Candidate& best_;
  Candidate moved_;
};

// Moves from the candidate's cut and from others that fit, and leaves the quickest. Makes cuts only
// while there are moves left.
void MoveFromEach(const Chunks& chunks, const LayerProfile& profile,
                  const std::vector<MakeCut>& others, const Stop& stop, int64_t& moves,
                  Candidate& candidate) {
  Mover(chunks, profile, stop, moves, candidate).RunThoroughly();
  for (const MakeCut& make : others) {
    if (moves <= 0) return;
    Candidate other = candidate;
    other.boundaries = make();
    if (other.boundaries.empty() || !chunks.Complete(other)) continue;
    Mover(chunks, profile, stop, moves, other).RunThoroughly();
    if (other.score_ns < candidate.score_ns) candidate = std::move(other);
  }
}

}  // namespace

int64_t ImproveChunksBriefly(const Job& job, const LayerProfile& profile, Candidate& candidate,
                             const Stop& stop, PassLists* lists) {
  if (!job.constraints.stage_layers.empty()) return 0;
  const Chunks chunks(job, profile, candidate.parallelism, candidate.schedule,
                      candidate.micro_batches, stop, lists);
  chunks.Score(candidate);
  const int64_t per_move = chunks.passes() + kPassesPerMove;
  const int64_t most = std::min(kMovesWhenBrief, kPassesAtMost / per_move);
  int64_t moves = most;
  Mover(chunks, profile, stop, moves, candidate).Run();
  return (most - moves + 1) * per_move;
}

int64_t ImproveChunks(const Job& job, const LayerProfile& profile, Candidate& candidate,
                      const Stop& stop, PassLists* lists) {
  if (!job.constraints.stage_layers.empty()) return 0;
  int64_t work = 0;
  std::optional<std::vector<int64_t>> known;
  const MakeCut least_loaded = [&] {
    if (!known) known = LeastLoadedCut(profile, candidate.shape(), stop);
    return *known;
  };
  const auto from_even_cuts = [&](const Chunks& chunks) {
    const int64_t per_move = chunks.passes() + kPassesPerMove;
    int64_t most = kPassesAtMost / per_move, moves = most;
    std::vector<MakeCut> cuts = chunks.SimpleCuts();
    cuts.push_back(least_loaded);
    MoveFromEach(chunks, profile, cuts, stop, moves, candidate);
    const VisitCut visit = [&](const std::vector<int64_t>& cut) {
      stop.Ask();
      --moves;
      Candidate other = candidate;
      other.boundaries = cut;
      if (chunks.Complete(other, candidate.score_ns) && other.score_ns < candidate.score_ns)
        candidate = std::move(other);
      return candidate.score_ns;
    };
    if (FewCuts(profile.transformer_layers, candidate.shape().virtual_stages())) {
      const int64_t more = kPassesOfAllCuts / per_move;
      most += more, moves += more;
      VisitCutsBelow(profile, candidate.shape(), candidate.score_ns, moves, visit, stop);
    }
    work += (most - moves + 4) * per_move;
  };
  const auto repeats = [](const SegmentWork& stage) { return stage.recompute_ns > 0; };
  const Chunks chunks(job, profile, candidate.parallelism, candidate.schedule,
                      candidate.micro_batches, stop, lists);
  chunks.Score(candidate);
  from_even_cuts(chunks);
  if (job.constraints.recompute != RecomputePolicy::kAuto ||
      std::none_of(candidate.segments.begin(), candidate.segments.end(), repeats))
    return work;
  // Uneven cuts may fit without any recompute, and be quicker.
  Job none = job;
  none.constraints.recompute = RecomputePolicy::kForbidden;
  const bool small = profile.size() * candidate.shape().virtual_stages() <= kUnevenCutsAtMost;
  std::optional<Candidate> start = (small ? EvenOrFittingChunks : EvenChunks)(
      none, profile, candidate.parallelism, candidate.schedule, candidate.micro_batches, stop,
      lists);
  if (!start) return work;
  const Candidate before = candidate;
  candidate.boundaries = std::move(start->boundaries);
  candidate.recomputed = std::move(start->recomputed);
  const Chunks without(none, profile, candidate.parallelism, candidate.schedule,
                       candidate.micro_batches, stop, lists);
  without.Score(candidate);
  from_even_cuts(without);
  if (candidate.score_ns >= before.score_ns) candidate = before;
  return work;
}

void ImproveChunksByRealPacks(const Job& job, const LayerProfile& profile,
                              const std::vector<PackShape>& packs, Candidate& candidate,
                              const Stop& stop, PassLists* lists) {
  const Chunks chunks(job, profile, candidate.parallelism, candidate.schedule,
                      candidate.micro_batches, stop, lists, &packs);
  int64_t moves = MovesByRealPacks(candidate);
  const Candidate before = candidate;
  chunks.Score(candidate);
  MoveFromEach(chunks, profile, chunks.SimpleCuts(), stop, moves, candidate);
  candidate.score_ns = before.score_ns;  // which is of mean packs
  candidate.step = SimulateStep(job, candidate.parallelism, candidate.shape(), candidate.segments,
                                packs, kEventsAtMost, stop, lists);
  if (candidate.step.total_ns() >= before.step.total_ns()) candidate = before;
}

}  // namespace evenkeel::planner
