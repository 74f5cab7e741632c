// How balanced micro-batches and steps are (OmniBal's measures) and how random their order is.
#ifndef EVENKEEL_PLANNER_PACKING_METRICS_H_
#define EVENKEEL_PLANNER_PACKING_METRICS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/deal.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Over the steps of an order; the holed step (some rank without any pack) is left out. DistRatio of
// a step: sum_r(X_max - X_r) / (X_max N) over the totals X_r of the N ranks; their mean over the
// steps in which X_max > 0, and 0 where there are none.
struct Balance {
  double dist_ratio_units = 0;
  double dist_ratio_tokens = 0;
  double dist_ratio_attention = 0;  // over sums of squared sample lengths
  double dist_ratio_vision_time = 0, dist_ratio_language_time = 0;  // over PackWork
  double idle =
      0;  // share of a step lost waiting, with both parts run one after the other on each
          // rank: sum over steps of (W_max - mean W) / sum of W_max, W = vision + language
  int64_t steps = 0;
  int64_t holed_steps = 0;      // 0 or 1
  double mean_rank_tokens = 0;  // Ave-T: per step and rank

  // Randomness. Variance of the step means of sample length (tokens), over what it would be if
  // packs were dealt to steps at random (variance of pack means / packs per step): 1 is random,
  // above is grouped. Only of steps that lack no pack; 0 where fewer than two are left.
  double step_spread = 0;
  // Correlation of a step's mean tokens per pack with its number: 0 is random.
  double step_trend = 0;
};

// DistRatio from the totals of the ranks, step by step: the mean over steps in which there is any.
class MeanDistRatio {
 public:
  void AddStep(const std::vector<double>& totals);
  double Mean() const { return steps_ == 0 ? 0 : sum_ / static_cast<double>(steps_); }

 private:
  double sum_ = 0;
  int64_t steps_ = 0;
};

// Steps one by one, which may differ in their ranks.
class BalanceMeter {
 public:
  BalanceMeter(std::span<const PackSums> sums, std::span<const PackWork> work)
      : sums_(sums), work_(work) {}

  // `speed`: of a rank, which counts in `idle` alone. False: some rank has no pack, and the step is
  // left out.
  bool AddStep(std::span<const int64_t> step, size_t ranks, double speed = 1);

  // Without the measures of randomness.
  Balance Take() const;

 private:
  // Of one step, per rank.
  struct Totals {
    std::vector<double> packs, units, tokens, attention, vision, language;
    void Set(std::span<const PackSums> sums, std::span<const PackWork> work,
             std::span<const int64_t> step, size_t ranks);
  };

  const std::span<const PackSums> sums_;
  const std::span<const PackWork> work_;
  Totals totals_;
  MeanDistRatio units_, tokens_, attention_, vision_, language_;
  double lost_ = 0, waited_ = 0;  // time of steps
  double rank_tokens_ = 0;        // summed over steps
  int64_t steps_ = 0, holed_ = 0;
};

Balance BalanceOf(std::span<const PackSums> sums, std::span<const PackWork> work,
                  std::span<const int64_t> order, int64_t ranks, int64_t packs_per_rank,
                  const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_METRICS_H_
