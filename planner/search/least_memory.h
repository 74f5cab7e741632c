// The partition of a parallelism that holds least: where it does not fit, no other does.
#ifndef EVENKEEL_PLANNER_SEARCH_LEAST_MEMORY_H_
#define EVENKEEL_PLANNER_SEARCH_LEAST_MEMORY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/recompute/stage_memory.h"
#include "planner/search/shard.h"

namespace evenkeel::planner {

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

// Whether some plan of the job fits in memory under these packs: the search without its times.
// Takes the segments it looks at from `segments_left`; false where they do not suffice.
bool FitsAtAll(const Job& job, const Batching& batching, const std::function<bool()>& stop,
               int64_t* segments_left);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_LEAST_MEMORY_H_
