// Finds the partition of a parallelism that holds least. If it does not fit, no other does.
#ifndef EVENKEEL_PLANNER_CUTS_LEAST_MEMORY_H_
#define EVENKEEL_PLANNER_CUTS_LEAST_MEMORY_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/cuts/memory_prospect.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/recompute/stage_memory.h"

namespace evenkeel::planner {

class StageNeeds;

// Some milliseconds of trying all cuts of several chunks per stage, in chunks looked at.
inline constexpr int64_t kCutsTried = 200'000;

// Returns the partition whose fullest stage is least full. It is exact with one chunk per stage: a
// dynamic program over (stage, boundary), as in the search for time. With several, it is one that
// fits, or the best found: layers move from the fullest stage of the cut that is even in layers to
// others, then all cuts are tried. Both end after a fixed amount of work; `trying` is that of the
// latter, in chunks looked at. A partition method limits it to the cuts that the method names.
LeastFull LeastFullest(const Job& job, const MemoryProspect& prospect, const Stop& stop);
// LeastFullest for callers that already have the prospect's StageNeeds.
LeastFull LeastFullest(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs,
                       const Stop& stop, int64_t trying = kCutsTried);

// Moves layers of a cut, of one or several chunks per stage, from the fullest stage to others until
// all fit or no move helps. Returns the cut found. REQUIRES that constraints leave the partition
// free.
LeastFull Relieve(const Job& job, const MemoryProspect& prospect, std::vector<int64_t> boundaries,
                  const Stop& stop);

// Returns true if no cut of the prospect fits in memory, under any recompute. A quick test: false
// proves nothing.
bool NoRoom(const Job& job, const MemoryProspect& prospect);
bool NoRoom(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs);

// Returns the recompute of each segment that brings every stage to its least memory.
std::vector<ModeCounts> LeastMemoryRecompute(const Job& job, const MemoryProspect& prospect,
                                             const std::vector<int64_t>& boundaries);

// Returns whether some plan of the job fits in memory under these packs: the search without times.
// Takes the segments looked at from `segments_left`; returns false if they run out.
bool FitsInMemory(const Job& job, const Batching& batching, const Stop& stop,
                  int64_t* segments_left);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_LEAST_MEMORY_H_
