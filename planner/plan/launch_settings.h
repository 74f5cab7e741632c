// Settings for a trainer, and the run that they give.
#ifndef EVENKEEL_PLANNER_PLAN_LAUNCH_SETTINGS_H_
#define EVENKEEL_PLANNER_PLAN_LAUNCH_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/launch.h"
#include "planner/plan/stages.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Settings for one trainer, and the run that they give.
struct Launch {
  LaunchFramework framework = LaunchFramework::kMegatron;
  LaunchMatch match = LaunchMatch::kNone;
  std::string program;  // takes the arguments, as words; empty if it is the user's own
  std::vector<std::string> arguments;       // words of a command line
  std::vector<LaunchVariable> environment;  // of every process
  std::vector<LaunchFile> files;
  std::vector<LaunchNote> notes;
  // For kNearest: the run, predicted on the plan's packs.
  Parallelism parallelism;
  Schedule schedule = Schedule::kOneFOneB;
  std::vector<StagePlan> stages;
  int64_t step_ns = 0;   // of one step, as in Prediction; 0 for kNone
  double slower_by = 0;  // step_ns over the plan's, less 1
  int64_t tried = 0;     // recompute settings of the trainer that were predicted
  int64_t fitting = 0;   // those of them that fit in memory
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_LAUNCH_SETTINGS_H_
