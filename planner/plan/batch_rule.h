// The batch rule of a plan.
#ifndef EVENKEEL_PLANNER_PLAN_BATCH_RULE_H_
#define EVENKEEL_PLANNER_PLAN_BATCH_RULE_H_

#include <cstdint>
#include <string>

#include "planner/packing/packing.h"
#include "planner/workload/per_encoder.h"

namespace evenkeel::planner {

// How the data loader makes packs, and the packs that it makes from a sample of the dataset.
struct BatchRule {
  Packer packer = Packer::kBalanced;
  // Weight of one unit of each encoder in the caps and sums of units.
  PerEncoder<int64_t> unit_scales = 1;
  int64_t unit_cap = 0;     // Qv
  int64_t token_cap = 0;    // Qt
  int64_t keep_units = 0;   // Qv': a pack is kept if it has at least this many units ...
  int64_t keep_tokens = 0;  // Qt': ... or at least this many tokens
  int64_t iterations = 0;   // T
  uint64_t seed = 0;
  int64_t order_window = 16;  // steps whose packs may be exchanged for balance
  OversizePolicy oversize = OversizePolicy::kAlone;
  PackTimes pack_times;       // times that dealing balances
  std::string caps_reason;    // explains the caps; empty if both were given
  bool caps_derived = false;  // unit_cap or token_cap is derived from the data
  int64_t sampled = 0;        // samples drawn from the histogram to predict the rest
  // Samples of the dataset that exceed a cap on their own, each in a pack of its own.
  int64_t oversize_samples = 0;
  double samples_per_pack = 0;             // AVE-BS
  int64_t packs = 0;                       // of the whole dataset, predicted
  double mean_units = 0, mean_tokens = 0;  // per pack
  double pad_ratio = 0;                    // share of padding; packs, laid end to end, have none
  // Over the data-parallel ranks, with packs in the order of the batch rule.
  double dist_ratio_units = 0, dist_ratio_tokens = 0;
  double dist_ratio_attention = 0;  // over sums of squared sample lengths
  int64_t pack_lower_bound = 0;     // for packings under these caps; 0 if not computed
  double idle_ratio = 0;            // share of a step's compute lost waiting for the slowest rank
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_BATCH_RULE_H_
