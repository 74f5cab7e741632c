// Finds the run nearest to a plan that a trainer can express: applies one restriction after the
// other, and notes the cost of each.
#ifndef EVENKEEL_PLANNER_LAUNCH_NEAREST_H_
#define EVENKEEL_PLANNER_LAUNCH_NEAREST_H_

#include <optional>
#include <string>
#include <vector>

#include "planner/launch.h"
#include "planner/launch/trials.h"

namespace evenkeel::planner {

// The pipelines that a trainer can express.
struct Abilities {
  std::string name;         // the trainer's name, for notes
  bool interleaved = true;  // virtual stages
  // Interleaved passes run in micro_batches / stages rounds with the same number of micro-batches
  // each.
  bool even_rounds = false;
  bool gpipe = false;
  bool tower_anywhere = false;         // else the whole encoder is on the first stage
  bool layers_one_by_one = false;      // each layer is recomputed whole or not at all
  bool alternate_products = false;     // or recomputes alternate products
  bool one_recompute_setting = false;  // all stages have the same, at least if they are cut again
};

// Returns the run nearest to the plan. The recompute of each layer is still chosen freely, unless
// `layers_one_by_one`. Returns nullopt if nothing fits, and adds a note that says why.
std::optional<Trial> NearestRun(const Trials& trials, const Abilities& abilities,
                                std::vector<LaunchNote>* notes);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_LAUNCH_NEAREST_H_
