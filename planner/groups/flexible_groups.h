// One random batch divided over sequence-parallel groups of unlike degree that run side by side, in
// the manner of FlexSP (arXiv 2412.01523).
#ifndef EVENKEEL_PLANNER_GROUPS_FLEXIBLE_GROUPS_H_
#define EVENKEEL_PLANNER_GROUPS_FLEXIBLE_GROUPS_H_

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

// Time of work on a group, by degree: forward, backward and recompute of the whole model.
using DegreeTimes = std::map<int64_t, PackCost>;

// `samples` over `gpus` at once: each gets the least degree at which a GPU holds `tokens_per_gpu`
// of it, in groups filled by first fit decreasing; GPUs that are left form groups of degree 1. Then
// samples, largest first, go to the group that will end first of those with room for them. Degrees
// are keys of `times`. Empty: there is no room for all.
std::vector<FlexibleGroup> AssignFlexibly(const std::vector<PackShape>& samples, int64_t gpus,
                                          double tokens_per_gpu, const DegreeTimes& times,
                                          const Stop& stop = {});

// One after the other what is too much at once: of the samples sorted by length as many each time
// as have room together. Empty: one has none alone.
std::vector<std::vector<FlexibleGroup>> AssignInWaves(std::vector<PackShape> samples, int64_t gpus,
                                                      double tokens_per_gpu,
                                                      const DegreeTimes& times,
                                                      const Stop& stop = {});

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_FLEXIBLE_GROUPS_H_
