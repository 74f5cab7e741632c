// Settings for trainers: what a job asks for and what a plan answers. How they are made:
// planner/launch/.
#ifndef EVENKEEL_PLANNER_LAUNCH_H_
#define EVENKEEL_PLANNER_LAUNCH_H_

#include <string>
#include <vector>

namespace evenkeel::planner {

enum class LaunchFramework { kMegatron, kDeepSpeed, kTorchtitan, kFlagScale, kXTuner, kFsdp };

// What a job wants to launch.
struct LaunchRequest {
  std::vector<LaunchFramework> frameworks;  // ascending, each once; empty: no settings are made
  bool float16 = false;  // weights and activations are float16, else bfloat16: costed alike
};

// How much of the plan a trainer runs by its settings.
enum class LaunchMatch {
  kExact,    // all of it: stages, schedule and what is recomputed
  kNearest,  // the nearest that the trainer can express
  kNone      // nothing: the notes say why
};

struct LaunchFile {
  std::string name;     // without folders
  std::string content;  // text
};

struct LaunchVariable {
  std::string name, value;
};

// What a trainer can not express, or what its user must know.
struct LaunchNote {
  std::string topic;     // such as "recompute" or "stages": see the contract
  std::string text;      // for a person
  double slower_by = 0;  // of a sample; 0: nothing is lost
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_H_
