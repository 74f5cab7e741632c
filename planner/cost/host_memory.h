// Memory that a pod needs on the host: docs/COST_MODEL.md, section 4. Assumed: nothing of it is
// fitted to measurements.
#ifndef EVENKEEL_PLANNER_COST_HOST_MEMORY_H_
#define EVENKEEL_PLANNER_COST_HOST_MEMORY_H_

#include <cstdint>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Bytes of one pod, that is of one node's ranks.
struct HostMemory {
  int64_t processes = 0;      // interpreter, libraries and pinned buffers of the ranks
  int64_t checkpoint = 0;     // weights and optimizer state, staged while they are written
  int64_t data_loading = 0;   // packs that the loaders' workers hold
  int64_t shared_memory = 0;  // of these, what passes through /dev/shm: packs, NCCL's buffers
  int64_t total() const { return processes + checkpoint + data_loading; }
};

// `state_bytes`: weights and optimizer state of the fullest GPU; `ranks` of the job in one node.
HostMemory HostMemoryOf(const Job& job, int64_t ranks, int64_t state_bytes,
                        const PackShape& largest);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_HOST_MEMORY_H_
