// Carries the fields in which a job differs from its trainer's defaults over to another trainer or
// ZeRO stage.
#ifndef EVENKEEL_PLANNER_TRAINER_CARRIED_H_
#define EVENKEEL_PLANNER_TRAINER_CARRIED_H_

#include "planner/trainer/execution.h"

namespace evenkeel::planner {

// Returns `new_defaults`, overridden by every field in which `job` differs from `defaults`.
Execution CarryOverrides(Execution defaults, Execution job, Execution new_defaults);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_CARRIED_H_
