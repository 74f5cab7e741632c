// The part of the plan checker that goes through the layers of every stage.
#ifndef EVENKEEL_PLANNER_CHECK_STAGE_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_STAGE_CHECKER_H_

#include <string>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Faults of the stages: layers, times, memory, p2p. REQUIRES that the plan's degrees are sound and
// as many stages as its pipeline has.
std::vector<std::string> CheckStages(const Job& job, const LayerProfile& profile, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_STAGE_CHECKER_H_
