// The batch rule of a job: caps, packer and order, and what packing by it is predicted to give,
// tried on a sample of the dataset.
#ifndef EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_
#define EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/caps.h"
#include "planner/packing/sample_types.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Micro-batches as the cost model sees them.
struct Batching {
  BatchRule rule;  // ratios are filled in later: they depend on the data-parallel degree
  std::vector<PackSums> packs;  // of the sample
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

SampleTypes TypesOf(const Dataset& dataset);
PackShape ShapeOf(const PackSums& sums);

// The rule by which caps that the job does not give are derived.
CapsRule CapsRuleOf(const Job& job, const Stop& stop = {});

// Whether a cap is left to derive: one that matters and that the job does not give.
bool DerivesCaps(const Job& job);

inline constexpr int64_t kSampledAtMost = 20000;  // ratios within .01, and a few milliseconds

// Packs a sample under the caps. `reason`: why they are what they are, if they are derived.
Batching MakeBatching(const Job& job, const Caps& caps, std::string reason, const Stop& stop = {},
                      int64_t sampled_at_most = kSampledAtMost);

// Of the samples of a packing group, packed as PackByGroups packs them, without what fills them up.
Batching MakeGroupBatching(const Job& job, const Caps& caps, const Stop& stop = {});

// Under the job's caps, or those whose packs come out level (CapsRule::Balanced).
Batching MakeBatching(const Job& job, const Stop& stop = {});

// Packs in the order in which Deal hands them out, whole steps of `data` ranks x `micro_batches`.
// Fewer packs than one step: they are gone through again.
std::vector<PackShape> DealtPacks(const Batching& batching, int64_t data, int64_t micro_batches,
                                  const Stop& stop = {});

// DistRatio of each quantity: packs in their order as steps of `data` ranks x `micro_batches`; mean
// over whole steps of sum_r(X_max - X_r) / (X_max N). Fewer packs than one step: the packs are gone
// through again.
struct DistRatios {
  double units = 0, tokens = 0, attention = 0;
  double idle = 0;  // of the time by PackTimes: sum over steps of (max - mean) over the sum of max
};
DistRatios DistRatiosOf(const std::vector<PackShape>& packs, const PackTimes& times, int64_t data,
                        int64_t micro_batches, const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_
