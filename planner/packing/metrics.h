// Measures of how balanced micro-batches and steps are (OmniBal's) and of how random their order
// is.
#ifndef EVENKEEL_PLANNER_PACKING_METRICS_H_
#define EVENKEEL_PLANNER_PACKING_METRICS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/deal.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Balance over the steps of an order, without the holed step (in which some rank has no pack). The
// DistRatio of a step is sum_r(X_max - X_r) / (X_max N) over the totals X_r of the N ranks. Each
// dist_ratio field is its mean over the steps in which X_max > 0, or 0 if there are none.
struct Balance {
  double dist_ratio_units = 0;
  double dist_ratio_tokens = 0;
  double dist_ratio_attention = 0;  // over sums of squared sample lengths
  double dist_ratio_vision_time = 0, dist_ratio_language_time = 0;  // over PackWork
  // Share of a step that is lost to waiting if each rank runs both parts one after the other: sum
  // over steps of (W_max - mean W) / sum of W_max, with W = vision + language.
  double idle = 0;
  int64_t steps = 0;
  int64_t holed_steps = 0;      // 0 or 1
  double mean_rank_tokens = 0;  // Ave-T: tokens per step and rank

  // Randomness: the variance of the step means of sample length (tokens) over the variance if packs
  // were dealt to steps at random (variance of pack means / packs per step). 1 is random, above 1
  // is grouped. Only steps that lack no pack count; 0 if there are fewer than two.
  double step_spread = 0;
  // Correlation between a step's mean tokens per pack and its index: 0 is random.
  double step_trend = 0;
};

// Accumulates the DistRatio from the totals of the ranks, step by step: the mean over the steps
// that have any.
class MeanDistRatio {
 public:
  void AddStep(const std::vector<double>& totals);
  double Mean() const { return steps_ == 0 ? 0 : sum_ / static_cast<double>(steps_); }

 private:
  double sum_ = 0;
  int64_t steps_ = 0;
};

// Accumulates the balance of steps one by one. Steps may differ in their number of ranks.
class BalanceMeter {
 public:
  BalanceMeter(std::span<const PackSums> sums, std::span<const PackWork> work)
      : sums_(sums), work_(work) {}

  // Adds a step. `speed` is the speed of its ranks and matters for `idle` only. If some rank has no
  // pack, leaves the step out and returns false.
  bool AddStep(std::span<const int64_t> step, size_t ranks, double speed = 1);

  // Returns the balance without the measures of randomness.
  Balance Take() const;

 private:
  // Totals of one step, per rank.
  struct Totals {
    std::vector<double> packs, units, tokens, attention, vision, language;
    void Set(std::span<const PackSums> sums, std::span<const PackWork> work,
             std::span<const int64_t> step, size_t ranks);
  };

  const std::span<const PackSums> sums_;
  const std::span<const PackWork> work_;
  Totals totals_;
  MeanDistRatio units_, tokens_, attention_, vision_, language_;
  double lost_ = 0, waited_ = 0;  // summed over steps, in the unit of PackWork
  double rank_tokens_ = 0;        // summed over steps
  int64_t steps_ = 0, holed_ = 0;
};

Balance BalanceOf(std::span<const PackSums> sums, std::span<const PackWork> work,
                  std::span<const int64_t> order, int64_t ranks, int64_t packs_per_rank,
                  const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_METRICS_H_
