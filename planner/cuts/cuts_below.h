// Cuts of a chain into chunks, by the work of their slowest stage.
#ifndef EVENKEEL_PLANNER_CUTS_CUTS_BELOW_H_
#define EVENKEEL_PLANNER_CUTS_CUTS_BELOW_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/simulate/pipeline.h"

namespace evenkeel::planner {

// The load of a cut is the largest, over stages s, of
//
//   m x load of s + sum over the stages t before s of the load of chunk 0 of t, ns.
//
// The load of a stage or chunk is its forward and backward time of a mean pack without recompute; m
// is the number of packs per rank. No step of the cut is shorter, whatever the schedule, recompute
// or p2p.

// Returns the P v + 1 chain positions of the cut with the least load, or of the best found within a
// limit of work; nothing if no cut gives every chunk a transformer layer.
std::vector<int64_t> LeastLoadedCut(const LayerProfile& profile, const PipelineShape& shape,
                                    const Stop& stop);

// Calls `visit` for cuts whose load is below a limit: `below_ns` at first, then what `visit` last
// returned. Chunks of nearly equal work come first. Ends when there are no more such cuts, or after
// `visits` calls or a number of partial cuts in proportion to it.
using VisitCut = std::function<int64_t(const std::vector<int64_t>& boundaries)>;
void VisitCutsBelow(const LayerProfile& profile, const PipelineShape& shape, int64_t below_ns,
                    int64_t visits, const VisitCut& visit, const Stop& stop);

// Returns whether there are few enough cuts to look at all of them.
bool FewCuts(int64_t layers, int64_t segments);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_CUTS_BELOW_H_
