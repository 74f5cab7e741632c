// Balanced adaptive recomputation (BAR) as OmniBal publishes it (arXiv 2407.20761, section 3.4), to
// compare with.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_ADAPTIVE_RECOMPUTE_H_
#define EVENKEEL_PLANNER_RECOMPUTE_ADAPTIVE_RECOMPUTE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "planner/recompute/least_recompute.h"

namespace evenkeel::planner {

// One probe recomputes every layer and notes the free memory; a second one stops recomputing a few
// layers, and the difference gives the bytes that one vision and one language layer save. Then as
// many layers as the free memory allows are recomputed no longer, those in front of the chain first
// (the order is not published); where the result does not fit, layers are added back one by one.
// Whole layers only. nullopt: full recompute does not fit.
std::optional<ChunkedRecompute> AdaptiveRecompute(const LayerProfile& profile,
                                                  std::span<const ChunkLoad> chunks,
                                                  int64_t allocatable);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_ADAPTIVE_RECOMPUTE_H_
