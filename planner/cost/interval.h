// How far predictions were from measurements: docs/COST_MODEL.md, section 6.
#ifndef EVENKEEL_PLANNER_COST_INTERVAL_H_
#define EVENKEEL_PLANNER_COST_INTERVAL_H_

#include <cstdint>
#include <string_view>

#include "planner/job.h"
#include "planner/plan.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// The resource that limits a step. Prediction errors differ by resource.
enum class Regime {
  kHost,     // little work per layer and rank: the host launches more slowly than the GPU computes
  kDevice,   // compute
  kNetwork,  // more than 0.3 of the step is communication
  kExperts   // a mixture of experts: routing and the spread of rows
};

// Returns the regime of a step with packs of `pack_tokens`.
Regime RegimeOf(const Job& job, const Parallelism& p, double pack_tokens, const StepTime& step);

// Return the range of measured over predicted that holds 80% of runs of the nearest kind.
// tests/validation/intervals_test.cc holds them to the published runs.
Interval StepIntervalOf(const Job& job, Regime regime);
Interval MemoryIntervalOf(const Job& job);

// Returns the interval that holds another share of runs, from 0.5 to 0.99, as if errors were normal
// on either side.
Interval AtCoverage(const Interval& interval, double coverage);

// Returns whether `used_bytes` fit at both ends of the interval.
MemoryFit FitOf(int64_t used_bytes, int64_t capacity_bytes, const Interval& interval);

std::string_view NameOf(Regime regime);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_INTERVAL_H_
