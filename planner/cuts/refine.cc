#include "planner/cuts/refine.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/candidates/work_limits.h"
#include "planner/cost/network.h"
#include "planner/partition/certified_search.h"
#include "planner/partition/methods.h"
#include "planner/partition/step_costs.h"
#include "planner/simulate/equal_packs.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kMeanEventsAtMost = 50000;  // simulated forwards
constexpr int64_t kRealMovesAtLeast = 32;
constexpr int64_t kRealPassesAtMost = 1'000'000;  // if that allows more moves
constexpr size_t kQuickest = 4;  // cuts kept of those that moves found; all steps choose among them

// Smaller is better.
using Quality = std::tuple<int64_t, int64_t, double>;

class Refiner {
 public:
  Refiner(const SegmentTable& segments, Candidate& candidate, const Stop& stop)
      : segments_(segments),
        network_(segments.job().cluster, segments.job().constants),
        candidate_(candidate),
        stop_(stop) {}

  // Takes the first improvement, boundary by boundary and then by runs of up to `longest`
  // boundaries, until none helps or `moves` are spent. `measure` takes a cut and a step; it may
  // return any longer step for a cut that takes longer than that.
  template <typename Measure>
  void Run(int64_t moves, size_t longest, Measure measure) {
    Quality best = measure(candidate_, kNoPlan);
    const size_t inner = candidate_.boundaries.size() - 2;
    for (size_t run = 1; run <= std::min(inner, longest);) {
      bool improved = false;
      for (size_t b = 1; b + run <= inner + 1; ++b) {
        for (const int64_t move : kBoundaryMoves) {
          if (moves <= 0 || stop_()) return;
          std::optional<Candidate> moved = Moved(b, run, move);
          if (!moved) continue;
          --moves;
          const Quality quality = measure(*moved, LongestOfUse(best));
          Keep(std::get<0>(quality), *moved);
          if (!(quality < best)) continue;
          best = quality;
          candidate_ = *std::move(moved);
          improved = true;
        }
      }
      run = improved ? 1 : run + 1;
    }
  }

  // Also keeps the quickest of the examined cuts.
  void KeepQuickest() { keeps_ = true; }
  // Returns them, the quickest first.
  const std::vector<std::pair<int64_t, Candidate>>& quickest() const { return quickest_; }

  Quality Tie(int64_t total_ns, const std::vector<SegmentWork>& stages) const {
    int64_t slowest = 0;
    double uneven = 0;
    for (const SegmentWork& s : stages) {
      const int64_t time = s.forward_ns + s.backward_ns + s.recompute_ns;
      slowest = std::max(slowest, time);
      uneven += static_cast<double>(time) * static_cast<double>(time);
    }
    return {total_ns, slowest, uneven};
  }

 private:
  // Moves `run` boundaries from `first` on.
  std::optional<Candidate> Moved(size_t first, size_t run, int64_t move) const {
    Candidate moved = candidate_;
    std::vector<int64_t>& boundaries = moved.boundaries;
    const size_t end = first + run;
    for (size_t b = first; b < end; ++b) boundaries[b] += move;
    if (boundaries[first] <= boundaries[first - 1] || boundaries[end - 1] >= boundaries[end])
      return std::nullopt;
    for (size_t s = first - 1; s < end; ++s) {
      const int64_t stage = static_cast<int64_t>(s);
      if (!segments_.Allowed(stage, boundaries[s], boundaries[s + 1])) return std::nullopt;
      const auto choice = segments_.Recompute(stage, boundaries[s], boundaries[s + 1]);
      if (!choice) return std::nullopt;
      moved.recomputed[s] = choice->recomputed;
    }
    for (size_t s = first - 1; s < end; ++s)
      moved.segments[s] = WorkOfSegment(network_, segments_.profile(), moved.parallelism,
                                        boundaries, s, moved.recomputed[s]);
    return moved;
  }

  // Returns the step above which a cut is neither the best nor kept.
  int64_t LongestOfUse(const Quality& best) const {
    if (!keeps_) return std::get<0>(best);
    if (quickest_.size() < kQuickest) return kNoPlan;
    return std::max(std::get<0>(best), quickest_.back().first);
  }

  void Keep(int64_t total_ns, const Candidate& cut) {
    if (!keeps_) return;
    if (quickest_.size() == kQuickest && total_ns >= quickest_.back().first) return;
    if (quickest_.size() == kQuickest) quickest_.pop_back();
    const auto slower = std::find_if(quickest_.begin(), quickest_.end(),
                                     [&](const auto& kept) { return kept.first > total_ns; });
    quickest_.insert(slower, {total_ns, cut});
  }

  const SegmentTable& segments_;
  const Network network_;
  Candidate& candidate_;
  const Stop stop_;
  bool keeps_ = false;
  std::vector<std::pair<int64_t, Candidate>> quickest_;
};

// Makes these the candidate's boundaries. They must fit.
void Cut(const SegmentTable& table, std::vector<int64_t> boundaries, Candidate& candidate) {
  candidate.boundaries = std::move(boundaries);
  candidate.recomputed.clear();
  for (int64_t s = 0; s < table.stages(); ++s) {
    const size_t at = static_cast<size_t>(s);
    candidate.recomputed.push_back(
        table.Recompute(s, candidate.boundaries[at], candidate.boundaries[at + 1])->recomputed);
  }
  candidate.segments = WorkOfSegments(table.job(), table.profile(), candidate.parallelism,
                                      candidate.boundaries, candidate.recomputed);
}

}  // namespace

int64_t MovesByRealPacks(const Candidate& c) {
  const PipelineShape shape = c.shape();
  const int64_t all =
      kStepsAtMost * c.parallelism.data * shape.micro_batches * shape.virtual_stages();
  const int64_t passes = 2 * std::min(kEventsPerRealMove, all);
  return std::max(kRealMovesAtLeast, kRealPassesAtMost / (passes + kPassesPerMove));
}

void RefineByMeanPacks(const SegmentTable& table, Candidate& candidate, const Stop& stop) {
  CertifiedPartition found = CertifyPartition(table, {candidate.boundaries}, {}, stop);
  if (found.boundaries.empty()) return;  // stopped
  Cut(table, std::move(found.boundaries), candidate);
  Refiner refiner(table, candidate, stop);
  EqualPacks simulation(stop);
  const int64_t events = candidate.micro_batches * table.stages();
  refiner.Run(kMeanEventsAtMost / events, 1, [&](const Candidate& cut, int64_t) {
    const std::vector<StageTimes> times = TimesOfStages(table.job(), cut.parallelism, cut.segments);
    return refiner.Tie(simulation.Step(times, cut.micro_batches), cut.segments);
  });
}

void RefineByRealPacks(const SegmentTable& table, CutSteps& steps, Candidate& candidate,
                       const Stop& stop) {
  if (candidate.step.imbalance_ns == 0) return;  // then mean packs are all there is
  const Candidate before = candidate;
  // Uneven packs wait most at the slowest stage, so the second start has the quickest one.
  if (std::vector<int64_t> quickest = PartitionBy(PartitionMethod::kProfile, table, stop);
      !quickest.empty()) {
    Candidate other = candidate;
    Cut(table, std::move(quickest), other);
    const int64_t step_ns = steps.StepOfFewEvents(candidate).total_ns();
    if (steps.StepOfFewEvents(other, step_ns).total_ns() < step_ns) candidate = std::move(other);
  }
  Refiner refiner(table, candidate, stop);
  // Few steps may choose the moves; then all of them may prefer another cut.
  if (!steps.same()) refiner.KeepQuickest();
  refiner.Run(MovesByRealPacks(candidate), candidate.segments.size(),
              [&](const Candidate& cut, int64_t longest_ns) {
                return refiner.Tie(steps.StepOfFewEvents(cut, longest_ns).total_ns(), cut.segments);
              });
  candidate.step = steps.StepOfAllEvents(candidate);
  for (const auto& [total_ns, kept] : refiner.quickest()) {
    if (stop()) break;
    if (kept.boundaries == candidate.boundaries) continue;
    Candidate other = kept;
    other.step = steps.StepOfAllEvents(other);
    if (other.step.total_ns() < candidate.step.total_ns()) candidate = std::move(other);
  }
  if (candidate.step.total_ns() > before.step.total_ns()) candidate = before;
}

}  // namespace evenkeel::planner
