// The part of the plan checker that checks the layers of every stage.
#ifndef EVENKEEL_PLANNER_CHECK_STAGE_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_STAGE_CHECKER_H_

#include <string>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the faults of the stages, in words: their layers, times, memory and p2p. REQUIRES: the
// plan's degrees are sound, and it has as many stages as its pipeline degree says.
std::vector<std::string> CheckStages(const Job& job, const LayerProfile& profile, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_STAGE_CHECKER_H_
