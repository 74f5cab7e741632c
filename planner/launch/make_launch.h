// Settings for trainers, from a plan. Pure, like the rest of the planner. What each trainer can
// express, with versions and sources: docs/LAUNCH.md.
#ifndef EVENKEEL_PLANNER_LAUNCH_MAKE_LAUNCH_H_
#define EVENKEEL_PLANNER_LAUNCH_MAKE_LAUNCH_H_

#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// One entry for each of job.launch.frameworks. `plan` fits; `batching` is that of its packs, of the
// last packing group where there are groups. When `stop` says so, the rest is left out.
std::vector<Launch> MakeLaunch(const Job& job, const Batching& batching, const Plan& plan,
                               const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_MAKE_LAUNCH_H_
