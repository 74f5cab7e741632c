// What a stage adds to the step besides its own forwards and backwards: the objective of the
// partition search.
#ifndef EVENKEEL_PLANNER_PARTITION_STEP_COSTS_H_
#define EVENKEEL_PLANNER_PARTITION_STEP_COSTS_H_

#include <cstdint>
#include <vector>

#include "planner/partition/equal_packs.h"
#include "planner/partition/segment_table.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {

// The one place that says how a stage's data sync and optimizer enter the step: both are phases
// after the pipeline. EqualPackStep of these is SimulatedStep::total_ns without imbalance.
StageTimes TimesOf(const Job& job, const Parallelism& p, const StageWork& work);
std::vector<StageTimes> TimesOfStages(const Job& job, const Parallelism& p,
                                      const std::vector<StageWork>& stages);

// A rule in its place. It may read the times of the stage's work, its sends apart, and what it
// trains; all that it gives must grow, or stay, with each of them.
using StageRule = StageTimes (*)(const Job& job, const Parallelism& p, const StageWork& work);

// TimesOf every segment of a table. The table must outlive it.
class StepCosts {
 public:
  explicit StepCosts(const SegmentTable& table, StageRule rule = TimesOf);

  // Of [i, j) as stage s with its least recompute. REQUIRES that StageTime(s, i, j) is a time.
  StageTimes At(int64_t s, int64_t i, int64_t j);

 private:
  // The rule's answer is kept for equal layers with equal recompute.
  struct Known {
    int64_t recompute_ns = -1;
    StageTimes times;
  };

  const SegmentTable& table_;
  const StageRule rule_;
  std::vector<Known> known_;  // by i and j
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_STEP_COSTS_H_
