// The most passes and bytes that a stage of a plan holds at once, for the checkers.
#ifndef EVENKEEL_PLANNER_CHECK_MOST_HELD_H_
#define EVENKEEL_PLANNER_CHECK_MOST_HELD_H_

#include <cstdint>
#include <vector>

#include "planner/plan.h"

namespace evenkeel::planner {

// The largest number of passes (of one micro-batch through one chunk) that a stage holds at once,
// and the largest number of bytes that it holds, if every pack is as large as the largest. If
// chunks differ, the two occur at different times.
struct HeldMost {
  int64_t passes = 0, bytes = 0;
};

// Finds both by going through the order in which the schedule runs the passes of a step. `of_chunk`
// has the bytes that a pass keeps, by the number of its chunk on the stage.
HeldMost MostHeldOf(const Plan& plan, int64_t stage, const std::vector<int64_t>& of_chunk);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_MOST_HELD_H_
