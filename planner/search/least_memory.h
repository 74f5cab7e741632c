// The partition of a parallelism that holds least: what does not fit as it is fits in no other way.
#ifndef EVENKEEL_PLANNER_SEARCH_LEAST_MEMORY_H_
#define EVENKEEL_PLANNER_SEARCH_LEAST_MEMORY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"
#include "planner/recompute/stage_memory.h"
#include "planner/simulate/schedule.h"

namespace evenkeel::planner {

// One parallelism and what its stages hold at least.
struct Shard {
  Parallelism parallelism;
  PipelineShape shape;
  LayerProfile profile;
  int64_t least_static_bytes = 0;  // weights, gradients and optimizer, spread evenly over stages
  int64_t segments() const;        // that LeastFullest looks at
};

// All degrees, those that hold least first. Of those that differ in virtual stages alone the
// fewest: chunks only hold more.
std::vector<Shard> ShardsBySize(const Job& job, const Batching& batching);

// One stage of a partition: its chunks with the recompute that brings them to their least memory.
struct StageHeld {
  std::vector<ChunkLoad> loads;
  std::vector<ModeCounts> recomputed;
  int64_t allocated = 0;
};

// The partition whose fullest stage is least full.
struct LeastFull {
  bool found = false;  // false: `stop` said so, or no partition is allowed
  int64_t stage = 0;   // the fullest
  std::vector<int64_t> boundaries;
  StageHeld held;
};

// Exact with one chunk per stage, by dynamic programming over (stage, boundary) as in the search
// for time; with several the cut that is even in layers.
LeastFull LeastFullest(const Job& job, const Shard& shard, const std::function<bool()>& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_LEAST_MEMORY_H_
