// A decision on what one stage recomputes.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_RECOMPUTE_CHOICE_H_
#define EVENKEEL_PLANNER_RECOMPUTE_RECOMPUTE_CHOICE_H_

#include <cstdint>
#include <vector>

#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

struct RecomputeChoice {
  ModeCounts recomputed{};
  int64_t recompute_ns = 0;  // RepeatedTime
  // No other choice takes less time by more than this. 0 unless the work ran out.
  int64_t undecided_ns = 0;
};

// The choice for a stage with several chunks.
struct ChunkedRecompute {
  std::vector<ModeCounts> recomputed;  // by chunk
  int64_t recompute_ns = 0;            // of one pack over all chunks
  int64_t undecided_ns = 0;            // as in RecomputeChoice
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_RECOMPUTE_CHOICE_H_
