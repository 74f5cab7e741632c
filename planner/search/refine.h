// From the partition that the closed form chose to the one of least simulated time.
#ifndef EVENKEEL_PLANNER_SEARCH_REFINE_H_
#define EVENKEEL_PLANNER_SEARCH_REFINE_H_

#include <functional>
#include <vector>

#include "planner/partition/segment_table.h"
#include "planner/search/candidate.h"

namespace evenkeel::planner {

// Makes the candidate the partition of least simulated step with mean packs of its parallelism
// (CertifyPartition, which starts from the candidate's own); among its neighbours of equal step,
// the quicker slowest stage, then the more even stages. Its boundaries must fit.
void RefineByMeanPacks(const SegmentTable& table, Candidate& candidate,
                       const std::function<bool()>& stop);

// From the candidate or the partition with the quickest slowest stage, whichever is faster with the
// real spread of packs, moves one boundary at a time by up to three chain positions, each side
// keeping its least recompute, as long as that makes it faster still and a fixed amount of work
// allows. Never makes it slower; candidate.step must be filled in.
void RefineByRealPacks(const SegmentTable& table, const std::vector<PackShape>& packs,
                       Candidate& candidate, const std::function<bool()>& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_REFINE_H_
