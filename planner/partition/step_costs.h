// The time that a stage adds to the step besides its own forwards and backwards: part of the
// objective of the partition search.
#ifndef EVENKEEL_PLANNER_PARTITION_STEP_COSTS_H_
#define EVENKEEL_PLANNER_PARTITION_STEP_COSTS_H_

#include <cstdint>
#include <vector>

#include "planner/cost/network.h"
#include "planner/partition/segment_table.h"
#include "planner/simulate/equal_packs.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// Computes and caches TimesOf for the segments of a table. The table must outlive it.
class StepCosts {
 public:
  explicit StepCosts(const SegmentTable& table);

  // Returns the times of [i, j) as stage s with its least recompute. REQUIRES: StageTime(s, i, j)
  // is not kNoPlan.
  StageTimes At(int64_t s, int64_t i, int64_t j);

 private:
  // Cached for equal layers, and their times with equal recompute.
  struct Known {
    int64_t recompute_ns = -1;
    StageTimes times;
    StageSync sync;
  };
  Known& KnownOf(int64_t i, int64_t j);

  const SegmentTable& table_;
  const Network network_;
  std::vector<TrainedParameters> trained_before_;  // of the layers in front of each position
  std::vector<int32_t> places_;  // by i and j: index in known_, or -1; made when needed
  std::vector<Known> known_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_STEP_COSTS_H_
