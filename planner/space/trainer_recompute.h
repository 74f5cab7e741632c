// The recompute settings that a job's trainer can express.
#ifndef EVENKEEL_PLANNER_SPACE_TRAINER_RECOMPUTE_H_
#define EVENKEEL_PLANNER_SPACE_TRAINER_RECOMPUTE_H_

#include <vector>

#include "planner/job.h"
#include "planner/model/recompute_setting.h"

namespace evenkeel::planner {

// Returns the least restrictive policy that the trainer can express.
RecomputePolicy FreestRecompute(const Trainer& trainer);

// Returns the settings that repeat parts of every language layer and differ for the job's model.
// They are the sets of Megatron-Core's --recompute-modules (transformer_config.py). Returns an
// empty vector if the trainer repeats only whole layers.
std::vector<RecomputeSetting> SelectiveSettings(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_TRAINER_RECOMPUTE_H_
