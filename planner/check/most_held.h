// What a stage of a plan holds at once, for the checkers.
#ifndef EVENKEEL_PLANNER_CHECK_MOST_HELD_H_
#define EVENKEEL_PLANNER_CHECK_MOST_HELD_H_

#include <cstdint>
#include <vector>

#include "planner/plan.h"

namespace evenkeel::planner {

struct HeldMost {
  int64_t passes = 0, bytes = 0;
};

// Returns the most passes, and the most bytes of them, that the stage holds at once over the step,
// found by going through the order in which the schedule runs its passes. `of_chunk` has the bytes
// of one micro-batch.
HeldMost MostHeldOf(const Plan& plan, int64_t stage, const std::vector<int64_t>& of_chunk);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_MOST_HELD_H_
