// Which modules' inputs are in host memory, and what is recomputed as well.
#ifndef EVENKEEL_PLANNER_CHOOSE_MODULES_H_
#define EVENKEEL_PLANNER_CHOOSE_MODULES_H_

#include "planner/choose/offload_steps.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Returns the job with the modules, out of those that it gives or of all, and the recompute that
// together give the shortest step. If nothing fits, the job offloads what it gives, or nothing.
// REQUIRES: the job asks for modules and lets the planner choose. Arbitrary once stopped.
ChosenOffload WithBestModules(const Job& job, const StepToImprove& known, OffloadTrials* trials);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHOOSE_MODULES_H_
