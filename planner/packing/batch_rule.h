// The batch rule of a job (caps, packer and order), and the packs that it is predicted to give,
// from a sample of the dataset.
#ifndef EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_
#define EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/caps.h"
#include "planner/packing/padded_batches.h"
#include "planner/packing/sample_types.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Micro-batches as the cost model sees them.
struct Batching {
  BatchRule rule;               // its ratios depend on the data-parallel degree, so they are filled
                                // in later
  std::vector<PackSums> packs;  // packs of the sample
  PackShape mean;
  PackShape largest;  // must fit in memory: the caps, or the largest oversize sample

  // The unbalanced start: random micro-batches of `baseline_samples`, padded to the longest.
  std::vector<PackShape> baseline;
  int64_t baseline_samples = 0;
  double baseline_pad_ratio = 0;
  PackShape baseline_mean;

  std::optional<PaddedRows> padded;  // if the job pads micro-batches instead of packing
  // Returns the mean micro-batch without padding, whose FLOPs and tokens count.
  const PackShape& real_mean() const { return padded ? padded->real : mean; }

  double packs_per_step(int64_t global_batch_samples) const {
    return static_cast<double>(global_batch_samples) / rule.samples_per_pack;
  }
};

SampleTypes TypesOf(const Dataset& dataset);
// Returns the most units of each encoder that a pack under the caps may have.
PerEncoder<double> UnitsAtMost(const Dataset& dataset, const Caps& caps);
PackShape ShapeOf(const PackSums& sums);

// Returns the rule that derives the caps that the job does not give.
CapsRule CapsRuleOf(const Job& job, const Stop& stop = {});

// Returns whether a cap must be derived: one that matters and that the job does not give.
bool DerivesCaps(const Job& job);

inline constexpr int64_t kSampledAtMost = 20000;  // ratios within 0.01, in a few milliseconds

// Packs a sample of the dataset under the caps. `reason` explains derived caps.
Batching MakeBatching(const Job& job, const Caps& caps, std::string reason, const Stop& stop = {},
                      int64_t sampled_at_most = kSampledAtMost);

// Packs the samples of a packing group as PackByGroups does, without the samples that fill packs
// up.
Batching MakeGroupBatching(const Job& job, const Caps& caps, const Stop& stop = {});

// Pads micro-batches (PadMicroBatches) if the job asks for it. Otherwise packs a sample under the
// job's caps, or under derived caps that make packs level (CapsRule::Balanced).
Batching MakeBatching(const Job& job, const Stop& stop = {});

// DistRatio of each quantity: the mean over whole steps of sum_r(X_max - X_r) / (X_max N). The
// packs, in their order, form steps of `data` ranks x `micro_batches`. If there are fewer packs
// than in one step, they repeat.
struct DistRatios {
  double units = 0, tokens = 0, attention = 0;
  double idle = 0;  // of time by the rule's PackTimes: sum over steps of (max - mean) / sum of max
};
DistRatios DistRatiosOf(const std::vector<PackShape>& packs, const BatchRule& rule, int64_t data,
                        int64_t micro_batches, const Stop& stop = {});

// Fills in the ratios of a rule whose steps deal these packs.
void FillDistRatios(const std::vector<PackShape>& packs, int64_t data, int64_t micro_batches,
                    const Stop& stop, BatchRule* rule);

// Returns the figures of padded micro-batches on that many ranks, without the plan that packs
// instead. Returns nullopt if the job does not pad.
std::optional<PaddedBatches> PaddedBatchesOf(const Job& job, const Batching& batching, int64_t data,
                                             int64_t micro_batches);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BATCH_RULE_H_
