// What a stage holds at once under a schedule, chunk by chunk.
#ifndef EVENKEEL_PLANNER_SIMULATE_HELD_PASSES_H_
#define EVENKEEL_PLANNER_SIMULATE_HELD_PASSES_H_

#include <cstdint>
#include <vector>

#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

// Micro-batches of each chunk whose activations the stage holds at the moment when the sum of
// `kept` (of one micro-batch, by chunk) over all of them is largest; the first such moment. Held
// from the forward until the backward is over, under kZeroBubble until the weight gradient is.
std::vector<int64_t> HeldAtPeak(const PipelineShape& shape, int64_t stage,
                                const std::vector<int64_t>& kept);

// Micro-batches by chunk at every moment that can be the peak: at no other moment does the stage
// hold as many of each chunk. HeldAtPeak is one of these, whatever `kept` is.
std::vector<std::vector<int64_t>> PeaksHeld(const PipelineShape& shape, int64_t stage);

// The most of each chunk, each at its own moment: never less than HeldAtPeak of any `kept`.
std::vector<int64_t> MostHeld(const PipelineShape& shape, int64_t stage);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_HELD_PASSES_H_
