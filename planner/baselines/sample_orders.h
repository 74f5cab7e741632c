// Baselines without packing: micro-batches of a fixed number of samples, padded to the longest
// sample (docs/ALGORITHMS.md).
#ifndef EVENKEEL_PLANNER_BASELINES_SAMPLE_ORDERS_H_
#define EVENKEEL_PLANNER_BASELINES_SAMPLE_ORDERS_H_

#include <cstdint>
#include <vector>

#include "planner/packing/metrics.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// The order of samples. A row is one micro-batch for every rank.
enum class BaselineOrder {
  kRandom,  // shuffled; a rank takes consecutive samples of a row
  // Shuffled, then cut into megabatches, each sorted by tokens, longest first; a rank takes every
  // ranks-th sample of a row. This is Hugging Face's distributed sampler.
  kLengthGrouped,
  // Shuffled; the samples of a row, longest first, each go to the rank with the fewest tokens that
  // still has a place. Ranks are then alike, but the samples of a micro-batch are not. InternVL and
  // LLaVA do this.
  kDeviceGrouped,
  // Shuffled, then grouped by tokens / bin; rows are cut from one group after the other, then
  // shuffled.
  kGroupRandom,
};

struct BaselineRule {
  BaselineOrder order = BaselineOrder::kRandom;
  int64_t samples = 4;        // per micro-batch
  int64_t ranks = 1;          // data parallel
  int64_t micro_batches = 1;  // per rank and step
  int64_t megabatch = 50;     // for length grouping, in micro-batches
  int64_t bin = 512;          // for kGroupRandom, in tokens
  uint64_t seed = 0;
};

struct BaselineBatches {
  // Every sample is in one micro-batch. Those of the last row may be short or missing.
  Packing micro_batches;
  std::vector<int64_t> order;  // steps x ranks x micro-batches; -1 for none, only in the last step
  double pad_ratio = 0;        // padding tokens over all tokens, padding included
  double samples_per_micro_batch = 0;  // AVE-BS
  Balance balance;  // totals of tokens include padding, as on the GPUs; units have none
};

BaselineBatches OrderSamples(const Lengths& lengths, const BaselineRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASELINES_SAMPLE_ORDERS_H_
