// Host memory that a pod needs: docs/COST_MODEL.md, section 4. All of it is assumed; nothing is
// fitted to measurements.
#ifndef EVENKEEL_PLANNER_COST_HOST_MEMORY_H_
#define EVENKEEL_PLANNER_COST_HOST_MEMORY_H_

#include <cstdint>

#include "planner/cost/pack_cost.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Bytes of one pod, which holds the ranks of one node.
struct HostMemory {
  int64_t processes = 0;      // interpreters, libraries and pinned buffers of the ranks
  int64_t checkpoint = 0;     // weights and optimizer state, staged while they are written
  int64_t data_loading = 0;   // packs that the data loaders' workers hold
  int64_t offloaded = 0;      // optimizer states and their gradients, and activations
  int64_t shared_memory = 0;  // the part of the above in /dev/shm: packs, NCCL's buffers
  int64_t total() const { return processes + checkpoint + data_loading + offloaded; }
};

// The part of one node's host, and of the link of one of its GPUs, that a job may use.
struct Host {
  int64_t memory_bytes = 0;
  double memory_bytes_per_second = 0;
  double link_bytes_per_second = 0;  // rate that copies reach, per direction
};

// Share of the nominal rate of a host's memory at which Adam's update runs there: 10^10 parameters
// in 2.57 s on the two Xeon 8168 of a DGX-2, 256 GB/s (ZeRO-Offload, arXiv 2101.06840, table 4).
inline constexpr double kHostUpdateShare = 0.45;

// Returns the figures that the cluster gives for its hosts. A figure that it does not give is the
// job's share of the GPU type's usual host.
Host HostOf(const Cluster& cluster);

// Returns whether plans must fit in the host's memory: they must if they offload, or if the job
// states that memory.
bool HostBinds(const Job& job);

// Returns the bytes of host memory that one rank's layers may take, or kNoHostLimit. The result is
// negative if the host lacks memory even without these layers.
int64_t HostRoom(const Job& job, const PackShape& largest);

// Returns the bytes/s at which each GPU of a node copies to or from its host while all others do
// the same.
double HostCopyRate(const Cluster& cluster);

// Return the ns in which a rank copies its shard of a layer's weights from the host to its GPU, in
// the format in which it holds them, and its shard of the gradients from its GPU to the host. 0
// where weights stay on the GPU.
double HostToDeviceTime(const Job& job, double parameters);
double DeviceToHostTime(const Job& job, double parameters);

// Returns the ns in which a rank's host updates this many parameters: copies of gradients and
// weights, unless the passes made them, and the update at the rate of the host's memory.
double HostUpdateTime(const Job& job, double parameters);

// Returns the host memory of one pod. `ranks` are the job's ranks in one node; `state_bytes` are
// the weights and optimizer state of the fullest GPU; `offloaded_bytes` are the bytes that it
// offloads, copies of gradients included; `largest` is the pack that must fit.
HostMemory HostMemoryOf(const Job& job, int64_t ranks, int64_t state_bytes,
                        const PackShape& largest, int64_t offloaded_bytes = 0);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_HOST_MEMORY_H_
