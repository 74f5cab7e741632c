// Cuts of a model into the segments of its stages, even or given. They ignore memory and recompute.
#ifndef EVENKEEL_PLANNER_CUTS_EVEN_CUTS_H_
#define EVENKEEL_PLANNER_CUTS_EVEN_CUTS_H_

#include <cstdint>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/recompute/stage_memory.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Returns P v + 1 boundaries: each stage has as many transformer layers as the others, and each row
// of chunks as many as the other rows.
std::vector<int64_t> EvenLayerCut(const LayerProfile& profile, const Parallelism& p);

// Returns P v + 1 boundaries, the k-th where k equal shares of the time have passed.
std::vector<int64_t> EvenTimeCut(const LayerProfile& profile, const Parallelism& p);

// Returns the layers of each class in [begin, end).
ClassCounts LayersBetween(const LayerProfile& profile, int64_t begin, int64_t end);

// Returns whether the segment [begin, end) has a transformer layer, as every one must.
bool HasTransformerLayer(const LayerProfile& profile, int64_t begin, int64_t end);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_EVEN_CUTS_H_
