// Host memory that a pod needs: docs/COST_MODEL.md, section 4. All of it is assumed; nothing is
// fitted to measurements.
#ifndef EVENKEEL_PLANNER_COST_HOST_MEMORY_H_
#define EVENKEEL_PLANNER_COST_HOST_MEMORY_H_

#include <cstdint>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Bytes of one pod, which holds the ranks of one node.
struct HostMemory {
  int64_t processes = 0;      // interpreters, libraries and pinned buffers of the ranks
  int64_t checkpoint = 0;     // weights and optimizer state, staged while they are written
  int64_t data_loading = 0;   // packs that the data loaders' workers hold
  int64_t shared_memory = 0;  // the part of the above in /dev/shm: packs, NCCL's buffers
  int64_t total() const { return processes + checkpoint + data_loading; }
};

// Returns the host memory of one pod. `ranks` are the job's ranks in one node; `state_bytes` are
// the weights and optimizer state of the fullest GPU; `largest` is the pack that must fit.
HostMemory HostMemoryOf(const Job& job, int64_t ranks, int64_t state_bytes,
                        const PackShape& largest);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_HOST_MEMORY_H_
