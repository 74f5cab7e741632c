// The nearest to a plan that a trainer can run: one restriction after the other, each with what it
// costs.
#ifndef EVENKEEL_PLANNER_LAUNCH_NEAREST_H_
#define EVENKEEL_PLANNER_LAUNCH_NEAREST_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/launch.h"
#include "planner/launch/trials.h"

namespace evenkeel::planner {

// What a trainer can express of a pipeline.
struct Abilities {
  std::string name;         // of the trainer, for notes
  bool interleaved = true;  // virtual stages
  // Interleaved passes go in micro_batches / stages rounds of as many micro-batches each.
  bool even_rounds = false;
  bool gpipe = false;
  bool tower_anywhere = false;     // else all of the encoder is on the first stage
  bool layers_one_by_one = false;  // each layer recomputes all of itself or nothing
  // Time per sample of a trial when the trainer's further rules hold; not less than the trial's
  // own. Empty: there are none. nullopt: it does not fit then.
  std::function<std::optional<double>(const Trial&)> judge;
};

// What of the plan the trainer runs, still with what each layer recomputes chosen freely unless
// `layers_one_by_one`. nullopt: nothing that fits; a note says why.
std::optional<Trial> NearestRun(const Trials& trials, const Abilities& abilities,
                                std::vector<LaunchNote>* notes);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_NEAREST_H_
