// Settings for trainers: the job's request, and the parts of the plan's answer. planner/launch/
// makes them.
#ifndef EVENKEEL_PLANNER_LAUNCH_H_
#define EVENKEEL_PLANNER_LAUNCH_H_

#include <string>
#include <vector>

namespace evenkeel::planner {

enum class LaunchFramework { kMegatron, kDeepSpeed, kTorchtitan, kFlagScale, kXTuner, kFsdp };

// The trainers that a job asks for.
struct LaunchRequest {
  // Ascending and distinct; if empty, no settings are made.
  std::vector<LaunchFramework> frameworks;
  bool float16 = false;  // weights and activations are float16, else bfloat16; both cost the same
};

// How much of the plan a trainer runs with its settings.
enum class LaunchMatch {
  kExact,    // the trainer runs all of it: stages, schedule and recompute
  kNearest,  // the trainer runs the nearest plan that it can express
  kNone      // the trainer runs none of it; the notes say why
};

struct LaunchFile {
  std::string name;     // without folders
  std::string content;  // the file's text
};

struct LaunchVariable {
  std::string name, value;
};

// Something that a trainer cannot express, or that its user must know.
struct LaunchNote {
  std::string topic;     // such as "recompute" or "stages"; the contract lists them
  std::string text;      // for a person
  double slower_by = 0;  // relative loss of time per sample; 0 if nothing is lost
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_H_
