// The batch rule of a job: caps, and what packing by it is predicted to give, tried on a sample of
// the dataset.
#ifndef EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_
#define EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Micro-batches as the cost model sees them.
struct Batching {
  BatchRule rule;  // ratios are filled in later: they depend on the data-parallel degree
  std::vector<PackShape> packs;  // of the sample, in random order
  PackShape mean;
  PackShape largest;  // what must fit in memory: the caps, or the largest oversize sample

  // The unbalanced start: random micro-batches of `baseline_samples`, padded to the longest.
  std::vector<PackShape> baseline;
  int64_t baseline_samples = 0;
  double baseline_pad_ratio = 0;
  PackShape baseline_mean;

  double packs_per_step(int64_t global_batch_samples) const {
    return static_cast<double>(global_batch_samples) / rule.samples_per_pack;
  }
};

// Derives caps where the job gives none (argument search of OmniBal, its anchor) and packs a sample
// by ISF.
Batching MakeBatching(const Job& job);

// DistRatio of each quantity: packs dealt in their order to steps of `data` ranks x
// `micro_batches`; mean over whole steps of sum_r(X_max - X_r) / (X_max N). Fewer packs than one
// step: the packs are gone through again.
struct DistRatios {
  double units = 0, tokens = 0, attention = 0;
};
DistRatios DealAtRandom(const std::vector<PackShape>& packs, int64_t data, int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_
