// Activations of a stage of several chunks in host memory, when it has most there.
#ifndef EVENKEEL_PLANNER_CUTS_HOST_LOADS_H_
#define EVENKEEL_PLANNER_CUTS_HOST_LOADS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "planner/candidates/candidate.h"
#include "planner/cost/layer_profile.h"
#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

// Sets ChunkLoad::on_host of a stage's chunks. `peaks` is PeaksHeld of the stage.
void CountOnHost(const LayerProfile& profile, const std::vector<std::vector<int64_t>>& peaks,
                 std::span<ChunkLoad> chunks);

// Returns the chunks of a stage with ChunkLoad::on_host: the packs in host memory when the stage
// has most there.
std::vector<ChunkLoad> HostLoads(const LayerProfile& profile, const Candidate& candidate,
                                 int64_t stage);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_HOST_LOADS_H_
