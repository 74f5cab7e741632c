// The partition of a parallelism that holds least: where it does not fit, no other does.
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

// All degrees, those that hold least first; of equal ones fewer chunks first.
std::vector<Shard> ShardsBySize(const Job& job, const Batching& batching);

// One stage of a partition: its chunks with the recompute that brings them to their least memory,
// and the packs in flight at the moment when the stage holds most.
struct StageHeld {
  std::vector<ChunkLoad> loads;
  std::vector<ModeCounts> recomputed;
  int64_t allocated = 0;
};

// The partition whose fullest stage is least full.
struct LeastFull {
  bool found = false;   // false: `stop` said so, or no partition is allowed
  bool proven = false;  // if it does not fit, no other does; of the cuts that the job allows
  int64_t stage = 0;    // the fullest
  std::vector<int64_t> boundaries;
  StageHeld held;
};

// Exact with one chunk per stage, by dynamic programming over (stage, boundary) as in the search
// for time. With several a cut that fits, or the best found: from the cut that is even in layers,
// layers move from the fullest stage to others; then all cuts are tried, until a fixed amount of
// work is done. Where the job names a partition method, of the cuts that this names.
LeastFull LeastFullest(const Job& job, const Shard& shard, const std::function<bool()>& stop);

// From a given cut, layers move from the fullest stage to others until all stages fit, or none of
// the moves helps: the cut found, of one or several chunks per stage. REQUIRES that constraints
// leave the partition free.
LeastFull Relieve(const Job& job, const Shard& shard, std::vector<int64_t> boundaries,
                  const std::function<bool()>& stop);

// True: no cut of the shard fits in memory, whatever is recomputed; quickly told. False: some may.
bool NoRoom(const Job& job, const Shard& shard, const Stop& stop = {});

// The recompute of each segment of a cut that brings every stage to its least memory.
std::vector<ModeCounts> SmallestRecompute(const Job& job, const Shard& shard,
                                          const std::vector<int64_t>& boundaries);

// Transformer layers of each segment of a cut.
std::vector<int64_t> LayersOf(const LayerProfile& profile, const std::vector<int64_t>& boundaries);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_LEAST_MEMORY_H_
