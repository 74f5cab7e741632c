// Settings for another trainer than the job's: the job as it would be planned for that trainer.
#ifndef EVENKEEL_PLANNER_LAUNCH_OTHER_TRAINER_H_
#define EVENKEEL_PLANNER_LAUNCH_OTHER_TRAINER_H_

#include <optional>

#include "planner/job.h"
#include "planner/launch.h"

namespace evenkeel::planner {

// Returns the trainer for whose plans the settings are: the job's own, or the one to plan for in
// its place.
const Trainer& TrainerToLaunch(LaunchFramework framework, const Job& job);

// Returns the job under the trainer: its habits where the job has those of its own trainer, its
// limits, and degrees that it has. Returns nullopt if the job asks for stages, a partition method,
// a schedule or degrees that the trainer has not.
std::optional<Job> Under(const Trainer& trainer, const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_OTHER_TRAINER_H_
