// Compares a measured step with the plan that it ran under.
#ifndef EVENKEEL_SERVER_CONVERT_PROFILE_MEASURED_STEP_H_
#define EVENKEEL_SERVER_CONVERT_PROFILE_MEASURED_STEP_H_

#include <string>

#include "planner/cost/measured_profile.h"

namespace evenkeel::v1 {
class Plan;
class StepOutcome;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Returns why the step cannot be compared with the plan: its model, GPU type or number of stages
// differs from `profile` and `outcome`, or it does not fit. Returns "" if it can be compared.
std::string PlanDiffers(const v1::Plan& plan, const planner::MeasuredProfile& profile,
                        const v1::StepOutcome& outcome);

// Copies the plan's predictions, without the correction by earlier steps. REQUIRES: PlanDiffers
// returned "".
void TakePlan(const v1::Plan& plan, const v1::StepOutcome& outcome, planner::StepMeasurement* step);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_MEASURED_STEP_H_
