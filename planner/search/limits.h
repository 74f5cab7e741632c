// What is too large to plan: beyond it, nanoseconds of a step would not fit their 64 bits.
#ifndef EVENKEEL_PLANNER_SEARCH_LIMITS_H_
#define EVENKEEL_PLANNER_SEARCH_LIMITS_H_

#include "planner/job.h"

namespace evenkeel::planner {

// A job is planned if one GPU alone would need no more than this for one optimizer step, about 30
// years.
inline constexpr double kOneGpuStepSecondsAtMost = 1e9;

// Time of one optimizer step on one GPU without regard to memory, or with all its work sent over
// the slowest link the plan may use, whichever is longer; a rough upper end in seconds.
double OneGpuStepSeconds(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_LIMITS_H_
