// The predicted times, memory and cost of a plan, with their intervals.
#ifndef EVENKEEL_PLANNER_PLAN_PREDICTION_H_
#define EVENKEEL_PLANNER_PLAN_PREDICTION_H_

#include <cstdint>
#include <string_view>

namespace evenkeel::planner {

// Parts of one optimizer step, as means over all pipeline stages. They sum to `total_ns`.
struct StepTime {
  int64_t encoder_compute_ns = 0;   // forward + backward, without communication
  int64_t language_compute_ns = 0;  // embedding, decoder layers, head and loss
  int64_t recompute_ns = 0;
  int64_t tensor_communication_ns = 0;
  int64_t pipeline_bubble_ns = 0;  // idle time with mean packs, p2p included
  // Added by the real spread of packs: waiting for the slowest.
  int64_t imbalance_ns = 0;
  int64_t data_sync_ns = 0;  // gradient reduction and, with ZeRO-1 or 2, parameter gathering
  int64_t optimizer_ns = 0;
  int64_t measured_correction_ns = 0;  // correction to measured steps; either sign
  int64_t total_ns = 0;
};

// How near the runs behind an interval are to the job.
enum class Evidence { kSameJob, kSameTrainer, kOtherTrainer, kAssumed };

// The range of measured over predicted that 80% of runs are in (cost/interval.h).
struct Interval {
  double low = 0, centre = 1, high = 0;
  int64_t runs = 0;
  Evidence evidence = Evidence::kAssumed;
  std::string_view narrowed_by;  // for a person
};
inline constexpr double kIntervalCoverage = 0.8;

// Memory fits at the upper end of its interval, only at the lower end, or at neither.
enum class MemoryFit { kFits, kWithinMargin, kDoesNotFit };

struct Prediction {
  StepTime step;
  int64_t micro_batches = 0;    // per data-parallel rank and step
  int64_t steps_per_epoch = 0;  // the last may be holed: some rank lacks a pack
  int64_t holed_steps = 0;      // per epoch: 0 or 1
  double samples_per_step = 0;
  double epoch_seconds = 0;  // of whole steps; a double, as long epochs exceed 64 bits of ns
  double gpu_days = 0;       // all epochs
  double cost = 0;           // GPU hours x price; 0 if no price was given
  double mfu = 0;  // model FLOPs of the step (no recompute) over those at the precision's peak
  double llm_tokens_per_second = 0;  // whole job
  double bubble_ratio = 0;           // idle share of the pipeline with mean packs
  // Expected errors, as shares: mean absolute errors on published runs (cost/uncertainty.h). 0: not
  // validated.
  double step_uncertainty = 0, memory_uncertainty = 0;
  Interval step_interval, memory_interval;
};

// The plan with failures and checkpoints (docs/COST_MODEL.md, section 8). All figures are expected
// values.
struct Goodput {
  int64_t checkpoint_bytes = 0;                   // of the whole job
  double checkpoint_seconds = 0;                  // to write one checkpoint, while training waits
  int64_t interval_steps = 0;                     // from one checkpoint to the next
  double mean_time_between_failures_seconds = 0;  // of any node of the job
  double useful_share = 0;                        // share of the time in steps that count
  double seconds = 0;                             // from the start to the end of all epochs
  double gpu_days = 0, cost = 0;                  // as Prediction's
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_PREDICTION_H_
