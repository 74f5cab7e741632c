// The packs or micro-batches of a step, in words.
#ifndef EVENKEEL_PLANNER_LAUNCH_BATCH_TEXT_H_
#define EVENKEEL_PLANNER_LAUNCH_BATCH_TEXT_H_

#include <string>

#include "planner/launch.h"
#include "planner/launch/trials.h"

namespace evenkeel::planner {

// Describes the packs of a step, for notes and for comments in files.
std::string BatchText(const Trials& trials, const PlanSpec& spec, LaunchFramework framework);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_BATCH_TEXT_H_
