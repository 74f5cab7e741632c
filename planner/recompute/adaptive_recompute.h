// Balanced adaptive recomputation (BAR) as OmniBal publishes it (arXiv 2407.20761, section 3.4),
// for comparison.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_ADAPTIVE_RECOMPUTE_H_
#define EVENKEEL_PLANNER_RECOMPUTE_ADAPTIVE_RECOMPUTE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "planner/cost/layer_profile.h"
#include "planner/recompute/recompute_choice.h"

namespace evenkeel::planner {

// One probe recomputes every layer and notes the free memory. A second one leaves out a few layers,
// and the difference gives the bytes that one vision and one language layer save. Then as many
// layers as the free memory allows stop recomputing, from the front of the chain on (the order is
// not published). If the result does not fit, layers recompute again one by one. Only whole layers
// recompute. Returns nullopt if full recompute does not fit.
std::optional<ChunkedRecompute> AdaptiveRecompute(const LayerProfile& profile,
                                                  std::span<const ChunkLoad> chunks,
                                                  int64_t allocatable);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_ADAPTIVE_RECOMPUTE_H_
