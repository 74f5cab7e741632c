// Micro-batches that a stage holds at once under a schedule, by chunk.
#ifndef EVENKEEL_PLANNER_SIMULATE_HELD_PASSES_H_
#define EVENKEEL_PLANNER_SIMULATE_HELD_PASSES_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

// Returns the micro-batches of each chunk whose activations the stage holds when their sum of
// `kept` (of one micro-batch, by chunk) is largest, for the first time at the end of a run of
// forwards. A micro-batch is held from its forward until the end of its backward, or, under
// kZeroBubble, of its weight gradient.
std::vector<int64_t> HeldAtPeak(const PipelineShape& shape, int64_t stage,
                                const std::vector<int64_t>& kept);

// Returns the micro-batches by chunk at every moment that can be the peak: at every other moment,
// the stage holds no more of any chunk than at one of these. HeldAtPeak is one of these for every
// `kept`.
std::vector<std::vector<int64_t>> PeaksHeld(const PipelineShape& shape, int64_t stage);

// Returns PeaksHeld of every stage. Throws Stopped if `stop` ends the work.
using PeaksOfStages = std::vector<std::vector<std::vector<int64_t>>>;
PeaksOfStages PeaksOfAllStages(const PipelineShape& shape, const Stop& stop);

// Returns the first of these moments, as PeaksHeld returns them, when the sum of `kept` is largest.
// REQUIRES: `peaks` is not empty.
const std::vector<int64_t>& FullestMoment(const std::vector<std::vector<int64_t>>& peaks,
                                          const std::vector<int64_t>& kept);

// Returns the most micro-batches held of each chunk. The chunks may reach their maxima at different
// moments, so no count is below that of HeldAtPeak for any `kept`.
std::vector<int64_t> MostHeld(const PipelineShape& shape, int64_t stage);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_HELD_PASSES_H_
