// Where recompute is decided: for one stage, the cheapest set of layers to recompute so that it
// fits in memory. Exact.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
#define EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Layers of each kind on a stage: index as LayerProfile::kinds. A profile has at most one entry per
// LayerKind.
using KindCounts = std::array<int64_t, kLayerKinds>;

struct StageMemory {
  int64_t static_bytes = 0;
  int64_t activation_bytes = 0;  // of all packs in flight
  int64_t workspace_bytes = 0;
  int64_t allocated() const { return static_bytes + activation_bytes + workspace_bytes; }
};

// Memory of a stage that holds `in_flight` packs and recomputes `recomputed[k]` of its `counts[k]`
// layers.
StageMemory MemoryOf(const LayerProfile& profile, const KindCounts& counts,
                     const KindCounts& recomputed, int64_t in_flight);

struct RecomputeChoice {
  KindCounts recomputed{};
  int64_t recompute_ns = 0;  // forward passes repeated per pack
};

// The choice of least recompute time whose memory is at most `allocatable`; ties go to fewer
// layers, then to the later kind. nullopt: not even full recompute fits. Under kForbidden and
// kFull the choice is given and only checked.
std::optional<RecomputeChoice> LeastRecompute(const LayerProfile& profile, const KindCounts& counts,
                                              int64_t in_flight, int64_t allocatable,
                                              RecomputePolicy policy);

// The recompute that brings the stage to its least memory under the policy, and that memory.
KindCounts SmallestRecompute(const LayerProfile& profile, const KindCounts& counts,
                             int64_t in_flight, RecomputePolicy policy);
int64_t LeastAllocated(const LayerProfile& profile, const KindCounts& counts, int64_t in_flight,
                       RecomputePolicy policy);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_LEAST_RECOMPUTE_H_
