// Compares a measured step with the plan that it ran under, part by part.
#ifndef EVENKEEL_SERVER_CONVERT_PROFILE_STEP_DRIFT_H_
#define EVENKEEL_SERVER_CONVERT_PROFILE_STEP_DRIFT_H_

#include <string>

#include "server/base/drift.h"

namespace evenkeel::v1 {
class Plan;
class StepDrift;
class StepOutcome;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Ratios that differ by less than this belong together. A step within this share of its prediction
// is as predicted.
inline constexpr double kDriftTolerance = 0.05;
// A rank is slow if its forward passes take longer than this times those of its stage.
inline constexpr double kSlowRank = 1.1;
inline constexpr int kSlowRanksNamed = 16;

// Returns why the ranks of the outcome cannot have run the plan, or "".
std::string RanksDiffer(const v1::Plan& plan, const v1::StepOutcome& outcome);

// Fills in all of `drift` but the index. REQUIRES: PlanDiffers (measured_step.h) returned "".
void FillDrift(const v1::Plan& plan, const v1::StepOutcome& outcome, v1::StepDrift* drift);

Drift DriftOf(const v1::StepDrift& drift);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_STEP_DRIFT_H_
