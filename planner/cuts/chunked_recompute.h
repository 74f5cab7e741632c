// Chooses the recompute of a stage of many chunks: near the least, in time that does not grow with
// the number of ways.
#ifndef EVENKEEL_PLANNER_CUTS_CHUNKED_RECOMPUTE_H_
#define EVENKEEL_PLANNER_CUTS_CHUNKED_RECOMPUTE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/job.h"
#include "planner/recompute/least_recompute.h"

namespace evenkeel::planner {

// Returns the recompute of each chunk. With one chunk, this is LeastRecompute. With several, layers
// go from one mode to the next, those that cost the least time per byte first, until the stage
// fits: the linear relaxation of the knapsack, rounded up. So it takes at most one layer's
// recompute more than the least. Returns nullopt if nothing that the policy allows fits.
std::optional<std::vector<ModeCounts>> ChunkedLeastRecompute(const LayerProfile& profile,
                                                             const std::vector<ChunkLoad>& chunks,
                                                             int64_t allocatable,
                                                             RecomputePolicy policy);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_CHUNKED_RECOMPUTE_H_
