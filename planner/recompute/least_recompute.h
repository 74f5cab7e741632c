// Where recompute is decided: for one stage, the cheapest set of layers, and of their parts, to
// recompute so that it fits in memory. Exact.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
#define EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

struct RecomputeChoice {
  ModeCounts recomputed{};
  int64_t recompute_ns = 0;  // RepeatedTime
  // No choice takes less by more than this: 0, but where the work ran out.
  int64_t undecided_ns = 0;
};

// Of a stage with several chunks.
struct ChunkedRecompute {
  std::vector<ModeCounts> recomputed;  // by chunk
  int64_t recompute_ns = 0;            // of all chunks, of one pack
  int64_t undecided_ns = 0;            // as in RecomputeChoice
};

// Under kAuto the choice of least recompute time whose memory is at most `allocatable`; under
// kWholeLayers likewise of choices that recompute all of a layer or nothing. Ties go to fewer
// recomputed layers, then to the later kind. Under kForbidden and kFull the choice is given and
// only checked; kAdaptive is AdaptiveRecompute. nullopt: what the policy allows does not fit.
std::optional<RecomputeChoice> LeastRecompute(const LayerProfile& profile, const KindCounts& counts,
                                              int64_t in_flight, int64_t allocatable,
                                              RecomputePolicy policy);
std::optional<ChunkedRecompute> LeastRecompute(const LayerProfile& profile,
                                               std::span<const ChunkLoad> chunks,
                                               int64_t allocatable, RecomputePolicy policy);

// The recompute that brings the stage to its least memory under the policy, and that memory.
ModeCounts SmallestRecompute(const LayerProfile& profile, const KindCounts& counts,
                             int64_t in_flight, RecomputePolicy policy);
int64_t LeastAllocated(const LayerProfile& profile, const KindCounts& counts, int64_t in_flight,
                       RecomputePolicy policy);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
