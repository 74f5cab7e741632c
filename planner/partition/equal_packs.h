// 1F1B with equal packs: the simulation that a partition is optimised by.
#ifndef EVENKEEL_PLANNER_PARTITION_EQUAL_PACKS_H_
#define EVENKEEL_PLANNER_PARTITION_EQUAL_PACKS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/stop.h"

namespace evenkeel::planner {

// One stage as far as the time of a step of equal packs goes, ns.
struct StageTimes {
  int64_t forward = 0;
  int64_t backward = 0;  // recompute included
  int64_t send = 0;      // p2p of one pack to the next stage, one way
  // After the stage's own last backward, while others may still run. (What is hidden by that
  // backward has been taken off.)
  int64_t after_own = 0;
  // Phases that begin when all stages have ended the one before.
  std::array<int64_t, 2> after_all{};
  int64_t total() const { return forward + backward; }
};

// max_s (end of the last backward of s + after_own_s) + the longest of each phase after all. `ends`
// as given by EqualPacks.
int64_t EqualPackStep(std::span<const StageTimes> stages, std::span<const int64_t> ends);

// Keeps its buffers from one run to the next: searches simulate millions of pipelines.
class EqualPacks {
 public:
  explicit EqualPacks(const Stop& stop = {}) : stop_(stop) {}

  // When the last backward of each stage ends. Exactly PipelineEnd of equal packs, in a
  // number of steps that hardly grows with m: as soon as one round (a forward and a backward on
  // every stage) takes equally long on all stages, so do the rounds that follow. Valid until the
  // next run. REQUIRES at least one stage, m >= 1.
  const std::vector<int64_t>& Run(std::span<const StageTimes> stages, int64_t micro_batches);

  int64_t Step(std::span<const StageTimes> stages, int64_t micro_batches) {
    return EqualPackStep(stages, Run(stages, micro_batches));
  }

  // Forwards and backwards gone through in all runs.
  int64_t events() const { return events_; }

 private:
  void Round(std::span<const StageTimes> stages, int64_t round, int64_t micro_batches);

  const Stop stop_;
  std::vector<int64_t> now_, forward_, backward_;  // when each stage's latest of each kind ended
  std::vector<int64_t> now_before_, forward_before_;
  int64_t events_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_EQUAL_PACKS_H_
