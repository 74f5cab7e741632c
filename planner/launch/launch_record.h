// The abilities of each framework's settings. Adding a framework means adding a record.
#ifndef EVENKEEL_PLANNER_LAUNCH_LAUNCH_RECORD_H_
#define EVENKEEL_PLANNER_LAUNCH_LAUNCH_RECORD_H_

#include <array>
#include <string_view>

#include "planner/launch.h"
#include "planner/launch/trials.h"
#include "planner/plan.h"

namespace evenkeel::planner {

struct LaunchRecord {
  LaunchFramework framework = LaunchFramework::kMegatron;
  void (*emit)(const Trials& trials, Launch* launch) = nullptr;
  // Names of the trainers whose plans the settings run; "" ends the list. The first stands for all
  // other trainers, except that `without_pipeline`, if not empty, stands for those without a
  // pipeline.
  std::array<std::string_view, 6> trainers;
  std::string_view without_pipeline;
  // The settings are Megatron-LM's arguments: these alone name optimizers, modules to offload,
  // dispatchers of experts, layers in 16 bits, and deterministic kernels.
  bool megatron_arguments = false;
  bool offloads_weights = false;  // can move weights to host memory
  bool zero_groups = false;       // say how many ranks share the states, at every ZeRO stage
  // Environment variable that moves the inputs of recomputed layers to host memory, or empty.
  std::string_view activation_variable;
  // How to turn on a fused step, and deterministic kernels, if the settings cannot: words that
  // follow a colon, or empty.
  std::string_view fused_step, deterministic;
  // How to choose the dispatcher of experts if the settings cannot: the words before and after its
  // quoted name.
  std::string_view before_dispatcher, after_dispatcher;
  // How the trainer sorts samples by length, or empty if its own loader does not.
  std::string_view sorting;
};

const LaunchRecord& RecordOf(LaunchFramework framework);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_LAUNCH_RECORD_H_
