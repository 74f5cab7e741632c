// Other plans and other jobs, beside a plan.
#ifndef EVENKEEL_PLANNER_PLAN_ALTERNATIVES_H_
#define EVENKEEL_PLANNER_PLAN_ALTERNATIVES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/space/parallelism.h"
#include "planner/trainer/dispatcher.h"
#include "planner/trainer/execution.h"
#include "planner/trainer/precision.h"

namespace evenkeel::planner {

struct Alternative {
  Parallelism parallelism;
  std::vector<int64_t> stage_layers;
  int64_t step_ns = 0;
  double samples_per_step = 0;  // may differ from the plan's, since packs are whole
  double gpu_days = 0;
  int64_t least_free_bytes = 0;
  // Its GPU-days are within kDistinguishableRatio of the plan's.
  bool indistinguishable = false;
};

// Plans whose predictions differ by less than this share cannot be told apart. Among published runs
// that differ only in their settings, the one predicted to be faster is faster in at least four of
// five pairs if the predictions differ by more (tests/validation/intervals_test.cc).
inline constexpr double kDistinguishableRatio = 0.10;

// Micro-batches of a fixed number of samples, padded to one length.
struct PaddedBatches {
  double mean_row_tokens = 0;      // expected length of a padded sample
  int64_t longest_row_tokens = 0;  // memory is planned for it
  // Expected time of the rank with most work in a step over a mean rank's, by
  // BatchRule::pack_times.
  double slowest_rank_ratio = 1;
  // The best plan of the job with packs, by a short search (nullopt if nothing fits with packs),
  // and the GPU-days of the padded plan over those of `packed`, less 1.
  std::optional<Alternative> packed;
  double packing_gain = 0;
};

// The plan's job, with its packs and global batch, on other GPUs: the cluster loses or gains a
// node, or has the next smaller or larger GPU type.
enum class SizeChange { kNodeLess, kNodeMore, kSmallerGpu, kLargerGpu };
struct OtherSize {
  SizeChange change = SizeChange::kNodeLess;
  std::string gpu;
  int64_t gpu_count = 0;
  bool fits = false;
  Alternative plan;  // only if it fits
};

// The plan's job, with its packs and global batch, in another precision.
struct OtherPrecision {
  Precision precision = Precision::k16Bit;
  std::optional<Alternative> plan;  // nullopt if it does not fit
};

// The plan's job under another sharding of states. It keeps the global batch, but has packs of its
// own.
struct OtherSharding {
  ZeroStage stage = ZeroStage::kNone;
  int64_t group = 0;                // as Training::zero_group
  std::optional<Alternative> plan;  // nullopt if it does not fit
};

// The plan under one dispatcher of experts.
struct DispatcherTime {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool planned = false;  // it is the plan's own
  int64_t step_ns = 0;   // as in Prediction
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_ALTERNATIVES_H_
