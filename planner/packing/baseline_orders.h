// Micro-batches of a fixed number of samples, padded to the longest: what training without packing
// does, to compare with (docs/ALGORITHMS.md).
#ifndef EVENKEEL_PLANNER_PACKING_BASELINE_ORDERS_H_
#define EVENKEEL_PLANNER_PACKING_BASELINE_ORDERS_H_

#include <cstdint>
#include <vector>

#include "planner/packing/metrics.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// In what order samples come. A row is one micro-batch for every rank.
enum class BaselineOrder {
  kRandom,  // shuffled; a rank takes consecutive samples of a row
  // Shuffled, cut into megabatches, each sorted by tokens, longest first; a rank takes every
  // ranks-th sample of a row. Hugging Face's distributed sampler does so.
  kLengthGrouped,
  // Shuffled; the samples of a row, longest first, each to the rank with the fewest tokens that
  // still takes one: ranks are alike, the samples of a micro-batch are not. InternVL and LLaVA.
  kDeviceGrouped,
  // Shuffled, grouped by tokens / bin, rows cut from the groups one after the other and shuffled.
  kGroupRandom,
};

struct BaselineRule {
  BaselineOrder order = BaselineOrder::kRandom;
  int64_t samples = 4;        // per micro-batch
  int64_t ranks = 1;          // data parallel
  int64_t micro_batches = 1;  // per rank and step
  int64_t megabatch = 50;     // of length grouping, in micro-batches
  int64_t bin = 512;          // of group-random, in tokens
  uint64_t seed = 0;
};

struct BaselineBatches {
  Packing micro_batches;       // nothing is dropped: those of the last row may be short or missing
  std::vector<int64_t> order;  // steps x ranks x micro-batches; -1: none, in the last step alone
  double pad_ratio = 0;        // padding over all tokens after padding
  double samples_per_micro_batch = 0;  // AVE-BS
  Balance balance;  // language totals count padded tokens, as the GPUs do; units are not padded
};

BaselineBatches MakeBaseline(const Lengths& lengths, const BaselineRule& rule);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_BASELINE_ORDERS_H_
