// Simulates 1F1B with equal packs exactly, at a cost that hardly depends on their number.
#ifndef EVENKEEL_PLANNER_SIMULATE_EQUAL_PACKS_H_
#define EVENKEEL_PLANNER_SIMULATE_EQUAL_PACKS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/stop.h"

namespace evenkeel::planner {

// The times of one stage in a step of equal packs, in ns.
struct StageTimes {
  int64_t forward = 0;
  int64_t backward = 0;  // recompute included
  int64_t send = 0;      // p2p of one pack to the next stage, one way
  // Time after the stage's own last backward, while other stages may still run. The part that this
  // backward hides is already subtracted.
  int64_t after_own = 0;
  // Phases that begin when all stages have ended the previous phase.
  std::array<int64_t, 2> after_all{};
  int64_t total() const { return forward + backward; }
};

// Returns max_s (end of the last backward of s + after_own_s) + the longest time of each phase
// after all. `ends` is the result of EqualPacks::Run.
int64_t EqualPackStep(std::span<const StageTimes> stages, std::span<const int64_t> ends);

// Keeps its buffers from one run to the next, since searches simulate millions of pipelines.
class EqualPacks {
 public:
  explicit EqualPacks(const Stop& stop = {}) : stop_(stop) {}

  // Returns when the last backward of each stage ends, exactly as in PipelineEnd of equal packs.
  // The number of simulated rounds hardly grows with m: while rounds (a forward and a backward on
  // every stage) repeat in a rhythm, they are skipped. The result is valid until the next run.
  // REQUIRES: at least one stage, m >= 1.
  const std::vector<int64_t>& Run(std::span<const StageTimes> stages, int64_t micro_batches);

  int64_t Step(std::span<const StageTimes> stages, int64_t micro_batches) {
    return EqualPackStep(stages, Run(stages, micro_batches));
  }

  // Returns the forwards and backwards simulated in all runs.
  int64_t events() const { return events_; }

 private:
  void Round(std::span<const StageTimes> stages, int64_t round, int64_t micro_batches);
  void Remember();
  int64_t Skip(int64_t at_most);
  bool Repeats(int64_t period) const;
  int64_t PeriodsToSkip(int64_t period) const;

  const Stop stop_;
  std::vector<int64_t> now_, forward_, backward_;  // end of each stage's latest pass of each kind
  std::vector<int64_t> now_before_, forward_before_;
  // Margin of each stage's latest forward and backward: how long the stage was free before the data
  // arrived. Negative if the data arrived first. Elements 2 s and 2 s + 1.
  std::vector<int64_t> margins_;
  // Margins and times after each of the last rounds, the latest last.
  std::vector<std::vector<int64_t>> rounds_;
  int64_t events_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_EQUAL_PACKS_H_
