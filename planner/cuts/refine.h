// Moves from the partition that the closed form chose to the one of least simulated time.
#ifndef EVENKEEL_PLANNER_CUTS_REFINE_H_
#define EVENKEEL_PLANNER_CUTS_REFINE_H_

#include <cstdint>

#include "planner/base/stop.h"
#include "planner/candidates/candidate.h"
#include "planner/cuts/cut_steps.h"
#include "planner/partition/segment_table.h"

namespace evenkeel::planner {

// Gives the candidate the partition with the least simulated step of mean packs (CertifyPartition,
// which starts from the candidate's own); among neighbours of equal step, it prefers the quicker
// slowest stage, then more even stages. The candidate's boundaries must fit.
void RefineByMeanPacks(const SegmentTable& table, Candidate& candidate, const Stop& stop);

// Returns how many cuts of the candidate's schedule real packs may judge: the more, the shorter the
// simulation of one.
int64_t MovesByRealPacks(const Candidate& candidate);

// Starts from the candidate or the partition with the quickest slowest stage, whichever is faster
// with real packs. Moves boundaries, singly or in runs, by up to three chain positions, with the
// least recompute on each side, while that is faster and a fixed amount of work allows. Never makes
// the candidate slower. candidate.step must be filled in.
void RefineByRealPacks(const SegmentTable& table, CutSteps& steps, Candidate& candidate,
                       const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_REFINE_H_
