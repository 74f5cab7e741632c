// Settings for another trainer than the job's: the job as it would be planned for that trainer.
#ifndef EVENKEEL_PLANNER_LAUNCH_OTHER_TRAINER_H_
#define EVENKEEL_PLANNER_LAUNCH_OTHER_TRAINER_H_

#include <optional>

#include "planner/job.h"
#include "planner/launch.h"

namespace evenkeel::planner {

// Returns the trainer for whose plans the settings are made: the job's own trainer, or the one to
// plan for in its place.
const Trainer& TrainerToLaunch(LaunchFramework framework, const Job& job);

// Returns the job under the trainer: with the trainer's defaults wherever the job has those of its
// own trainer, within the trainer's limits and degrees. Returns nullopt if the job asks for stages,
// a partition method, a schedule or degrees that the trainer does not have.
std::optional<Job> JobForTrainer(const Trainer& trainer, const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_OTHER_TRAINER_H_
