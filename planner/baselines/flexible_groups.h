// Divides one random batch over sequence-parallel groups of different degrees that run side by
// side, as FlexSP does (arXiv 2412.01523).
#ifndef EVENKEEL_PLANNER_BASELINES_FLEXIBLE_GROUPS_H_
#define EVENKEEL_PLANNER_BASELINES_FLEXIBLE_GROUPS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"

namespace evenkeel::planner {

// Samples that one group of GPUs works on in a step.
struct FlexibleGroup {
  int64_t degree = 1;  // GPUs
  PackShape work;
  double ns = 0;
};

// Time of a group's work in ns, by degree: forward, backward and recompute of the whole model.
using DegreeTimes = std::map<int64_t, PackCost>;

// Assigns `samples` to `gpus` GPUs, so that all of them run at the same time. Each sample gets the
// least degree at which no GPU holds more than `tokens_per_gpu` of it, in groups filled by first
// fit decreasing; the remaining GPUs form groups of degree 1. Then the samples, largest first, go
// to the group that will end first among those with room for them. All degrees are keys of `times`.
// Returns an empty vector if the samples do not all fit.
std::vector<FlexibleGroup> AssignFlexibly(const std::vector<PackShape>& samples, int64_t gpus,
                                          double tokens_per_gpu, const DegreeTimes& times,
                                          const Stop& stop = {});

// Assigns samples that may not fit all at once, in waves that run one after the other. Each wave
// takes as many of the samples, sorted by length, as fit together. Returns an empty vector if some
// sample does not fit even alone.
std::vector<std::vector<FlexibleGroup>> AssignInWaves(std::vector<PackShape> samples, int64_t gpus,
                                                      double tokens_per_gpu,
                                                      const DegreeTimes& times,
                                                      const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASELINES_FLEXIBLE_GROUPS_H_
