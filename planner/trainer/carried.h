// Carries the habits that a job sets over to another trainer or another ZeRO stage.
#ifndef EVENKEEL_PLANNER_TRAINER_CARRIED_H_
#define EVENKEEL_PLANNER_TRAINER_CARRIED_H_

#include "planner/trainer/execution.h"

namespace evenkeel::planner {

// Returns the defaults of the `other` trainer, overridden by every field in which `job` differs
// from the defaults of its `own` trainer.
Execution Carried(Execution own, Execution job, Execution other);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_CARRIED_H_
