#include "planner/search/refine.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/partition/certified_search.h"
#include "planner/partition/methods.h"
#include "planner/partition/step_costs.h"
#include "planner/simulate/equal_packs.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kMeanEventsAtMost = 50000;  // simulated forwards
constexpr int64_t kRealMovesAtMost = 32;
constexpr size_t kQuickest = 4;  // cuts kept of those that moves found; all steps choose among them
constexpr int64_t kRealEvents = 30000;  // per move: all compare the same packs

// Smaller is better.
using Quality = std::tuple<int64_t, int64_t, double>;

class Refiner {
 public:
  Refiner(const SegmentTable& segments, Candidate& candidate, const std::function<bool()>& stop)
      : segments_(segments), candidate_(candidate), stop_(stop) {}

  // Takes the first improvement, boundary by boundary, until none helps or `moves` are spent.
  template <typename Measure>
  void Run(int64_t moves, Measure measure) {
    Quality best = measure(candidate_.stages);
    for (bool improved = true; improved;) {
      improved = false;
      for (size_t b = 1; b + 1 < candidate_.boundaries.size(); ++b) {
        for (const int64_t move : kBoundaryMoves) {
          if (moves <= 0 || (stop_ && stop_())) return;
          const std::optional<Candidate> moved = Moved(b, move);
          if (!moved) continue;
          --moves;
          const Quality quality = measure(moved->stages);
          Keep(std::get<0>(quality), *moved);
          if (!(quality < best)) continue;
          best = quality;
          candidate_ = *moved;
          improved = true;
        }
      }
    }
  }

  // Returns the quickest of the cuts that were looked at, the quickest first.
  const std::vector<std::pair<int64_t, Candidate>>& quickest() const { return quickest_; }

  Quality Tie(int64_t total_ns, const std::vector<StageWork>& stages) const {
    int64_t slowest = 0;
    double uneven = 0;
    for (const StageWork& s : stages) {
      const int64_t time = s.forward_ns + s.backward_ns + s.recompute_ns;
      slowest = std::max(slowest, time);
      uneven += static_cast<double>(time) * static_cast<double>(time);
    }
    return {total_ns, slowest, uneven};
  }

 private:
  std::optional<Candidate> Moved(size_t b, int64_t move) const {
    Candidate moved = candidate_;
    std::vector<int64_t>& boundaries = moved.boundaries;
    boundaries[b] += move;
    if (boundaries[b] <= boundaries[b - 1] || boundaries[b] >= boundaries[b + 1])
      return std::nullopt;
    for (const size_t s : {b - 1, b}) {
      const int64_t stage = static_cast<int64_t>(s);
      if (!segments_.Allowed(stage, boundaries[s], boundaries[s + 1])) return std::nullopt;
      const auto choice = segments_.Recompute(stage, boundaries[s], boundaries[s + 1]);
      if (!choice) return std::nullopt;
      moved.recomputed[s] = choice->recomputed;
    }
    moved.stages = StageWorks(segments_.job(), segments_.profile(), moved.parallelism, boundaries,
                              moved.recomputed);
    return moved;
  }

  void Keep(int64_t total_ns, const Candidate& cut) {
    if (quickest_.size() == kQuickest && total_ns >= quickest_.back().first) return;
    if (quickest_.size() == kQuickest) quickest_.pop_back();
    const auto slower = std::find_if(quickest_.begin(), quickest_.end(),
                                     [&](const auto& kept) { return kept.first > total_ns; });
    quickest_.insert(slower, {total_ns, cut});
  }

  const SegmentTable& segments_;
  Candidate& candidate_;
  const std::function<bool()>& stop_;
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
  candidate.stages = StageWorks(table.job(), table.profile(), candidate.parallelism,
                                candidate.boundaries, candidate.recomputed);
}

}  // namespace

void RefineByMeanPacks(const SegmentTable& table, Candidate& candidate,
                       const std::function<bool()>& stop) {
  CertifiedPartition found = CertifyPartition(table, {candidate.boundaries}, {}, stop);
  if (found.boundaries.empty()) return;  // stopped
  Cut(table, std::move(found.boundaries), candidate);
  Refiner refiner(table, candidate, stop);
  EqualPacks simulation(stop);
  const int64_t events = candidate.micro_batches * table.stages();
  refiner.Run(kMeanEventsAtMost / events, [&](const std::vector<StageWork>& stages) {
    const std::vector<StageTimes> times = TimesOfStages(table.job(), candidate.parallelism, stages);
    return refiner.Tie(simulation.Step(times, candidate.micro_batches), stages);
  });
}

void RefineByRealPacks(const SegmentTable& table, const std::vector<PackShape>& packs,
                       Candidate& candidate, const std::function<bool()>& stop) {
  if (candidate.step.imbalance_ns == 0) return;  // then mean packs are all there is
  const Candidate before = candidate;
  const auto simulate = [&](const std::vector<StageWork>& stages, int64_t events) {
    return SimulateStep(table.job(), candidate.parallelism, candidate.shape(), stages, packs,
                        events, stop);
  };
  // Uneven packs wait most at the slowest stage, so the second start has the quickest one.
  if (std::vector<int64_t> quickest = PartitionBy(PartitionMethod::kProfile, table, stop);
      !quickest.empty()) {
    Candidate other = candidate;
    Cut(table, std::move(quickest), other);
    if (simulate(other.stages, kRealEvents).total_ns() <
        simulate(candidate.stages, kRealEvents).total_ns())
      candidate = std::move(other);
  }
  Refiner refiner(table, candidate, stop);
  refiner.Run(kRealMovesAtMost, [&](const std::vector<StageWork>& stages) {
    return refiner.Tie(simulate(stages, kRealEvents).total_ns(), stages);
  });
  candidate.step = simulate(candidate.stages, kEventsAtMost);
  // Few steps may have chosen so far; all of them may prefer another cut.
  const bool all_chose = SimulatesAlike(table.job(), candidate.parallelism, candidate.shape(),
                                        kRealEvents, kEventsAtMost);
  for (const auto& [total_ns, kept] : refiner.quickest()) {
    if (all_chose || (stop && stop())) break;
    if (kept.boundaries == candidate.boundaries) continue;
    Candidate other = kept;
    other.step = simulate(other.stages, kEventsAtMost);
    if (other.step.total_ns() < candidate.step.total_ns()) candidate = std::move(other);
  }
  if (candidate.step.total_ns() > before.step.total_ns()) candidate = before;
}

}  // namespace evenkeel::planner
