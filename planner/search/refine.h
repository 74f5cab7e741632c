// Local search on the boundaries of a partition, by simulated time: the closed form that chose it
// is only close.
#ifndef EVENKEEL_PLANNER_SEARCH_REFINE_H_
#define EVENKEEL_PLANNER_SEARCH_REFINE_H_

#include <functional>
#include <vector>

#include "planner/partition/segments.h"
#include "planner/search/search.h"

namespace evenkeel::planner {

// Moves one boundary at a time by up to three chain positions, each side keeping its least
// recompute, as long as that makes the simulated step with mean packs faster (ties: the quicker
// slowest stage, then the more even stages) and a fixed amount of work allows. Never makes it
// slower. The candidate's stages must be filled in.
void RefineByMeanPacks(const Segments& segments, Candidate& candidate,
                       const std::function<bool()>& stop);

// Likewise by the simulated step with the real spread of packs; candidate.step must be filled in.
// Fewer moves, since each costs more.
void RefineByRealPacks(const Segments& segments, const std::vector<PackShape>& packs,
                       Candidate& candidate, const std::function<bool()>& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_REFINE_H_
