// Makes settings for trainers from a plan. Pure, like the rest of the planner. docs/LAUNCH.md says
// what each trainer can express, with versions and sources.
#ifndef EVENKEEL_PLANNER_LAUNCH_MAKE_LAUNCH_H_
#define EVENKEEL_PLANNER_LAUNCH_MAKE_LAUNCH_H_

#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Says whether the plan is the planner's own or the caller's. For another trainer than the job's,
// the planner makes its own plan again on the same packs, but translates a caller's plan.
enum class LaunchedPlan { kOurs, kCallers };

// Returns one entry for each of job.launch.frameworks; if `stop` ends the work, the rest is left
// out. `batching` is that of the plan's packs, or of its last packing group if it has groups.
// REQUIRES: `plan` fits.
std::vector<Launch> MakeLaunch(const Job& job, const Batching& batching, const Plan& plan,
                               LaunchedPlan whose, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_MAKE_LAUNCH_H_
