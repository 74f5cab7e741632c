// One parallelism of the search and what its stages hold: the values that the searches for cuts
// that fit share.
#ifndef EVENKEEL_PLANNER_CUTS_MEMORY_PROSPECT_H_
#define EVENKEEL_PLANNER_CUTS_MEMORY_PROSPECT_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/recompute/stage_memory.h"
#include "planner/simulate/schedule.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// One parallelism and what its stages hold at least.
struct MemoryProspect {
  Parallelism parallelism;
  PipelineShape shape;
  LayerProfile profile;
  int64_t least_static_bytes = 0;  // weights, gradients and optimizer, spread evenly over stages
  int64_t segments() const;        // how many LeastFullest looks at
};

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
  bool proven = false;  // if it does not fit, no other that the job allows does
  int64_t stage = 0;    // the fullest
  std::vector<int64_t> boundaries;
  StageHeld held;
};

// Returns all degrees, those that hold least first and, of equal ones, fewer chunks first. Returns
// none once `stop` has returned true.
std::vector<MemoryProspect> ProspectsByMemory(const Job& job, const Batching& batching,
                                              const Stop& stop);

// Returns the transformer layers of each segment of a cut.
std::vector<int64_t> LayersPerSegment(const LayerProfile& profile,
                                      const std::vector<int64_t>& boundaries);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_MEMORY_PROSPECT_H_
