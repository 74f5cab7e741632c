// Limits of the jobs that are planned. Beyond them, the nanoseconds of a step would not fit in 64
// bits.
#ifndef EVENKEEL_PLANNER_COST_STEP_SIZE_LIMIT_H_
#define EVENKEEL_PLANNER_COST_STEP_SIZE_LIMIT_H_

#include "planner/job.h"

namespace evenkeel::planner {

// A job is planned if a single GPU would need no more than this for one optimizer step, about 30
// years.
inline constexpr double kOneGpuStepSecondsAtMost = 1e9;

// Returns a rough upper end, in seconds, of one optimizer step: on one GPU without regard to
// memory, and with all its work also sent over the slowest link that the plan may use.
double OneGpuStepSeconds(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_STEP_SIZE_LIMIT_H_
