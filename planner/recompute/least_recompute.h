// Decides what one stage recomputes: the cheapest set of layers, and of their parts, with which it
// fits in memory. Exact unless the work runs out (RecomputeChoice::undecided_ns).
#ifndef EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
#define EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/recompute/recompute_choice.h"
#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

// Under kAuto, returns the choice of least recompute time whose memory is at most `allocatable`
// bytes; under kWholeLayers, the best of the choices that recompute all of a layer or nothing. Ties
// go to fewer recomputed layers, then to the later kind. kForbidden and kFull leave one choice, and
// so does kOneSetting if the profile has a setting; without one, it is kAuto. kAdaptive is
// AdaptiveRecompute. Returns nullopt if nothing that the policy allows fits.
std::optional<RecomputeChoice> LeastRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                                              int64_t allocatable, RecomputePolicy policy);
std::optional<ChunkedRecompute> LeastRecompute(const LayerProfile& profile,
                                               std::span<const ChunkLoad> chunks,
                                               int64_t allocatable, RecomputePolicy policy);

// Return the recompute with which the stage needs the least memory under the policy, and that
// memory in bytes.
ModeCounts SmallestRecompute(const LayerProfile& profile, const ChunkLoad& stage,
                             RecomputePolicy policy);
int64_t LeastAllocated(const LayerProfile& profile, const ChunkLoad& stage, RecomputePolicy policy);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
