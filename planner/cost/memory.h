// Memory of one GPU by part: docs/COST_MODEL.md, section 4.
#ifndef EVENKEEL_PLANNER_COST_MEMORY_H_
#define EVENKEEL_PLANNER_COST_MEMORY_H_

#include <cstdint>

#include "planner/cost/layer_operation.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner {

// No part of what one layer needs counts for more: no GPU holds as much (the contract ends at 2^42
// bytes), and sums over a pipeline fit in 64 bits. Of a layer's workspace, which has several such
// parts, 2^46: it is never less than one of them.
inline constexpr int64_t kPartBytesAtMost = int64_t{1} << 43;
inline constexpr int64_t kWorkspaceBytesAtMost = int64_t{1} << 46;

// CUDA context, loaded kernels, handles of cuBLAS and cuDNN: outside the allocator. Assumed.
int64_t FrameworkBytes();

// NCCL's channels, outside the allocator. Assumed.
int64_t CommunicationBytes();

// What the caching allocator reserves on top of `allocated`: 4.3%, the mean of 344 measured rank
// samples.
int64_t AllocatorReserve(int64_t allocated);

// What a plan may use: 99% of the marketing size counted in GiB (79.2 of 80 GiB on A100 and H100),
// less what the job keeps free.
int64_t CapacityBytes(const Cluster& cluster);

// Most that may be allocated so that the reserve and the framework still fit. Below 0: nothing
// does.
int64_t AllocatableBytes(const Cluster& cluster);

// Workspaces of cuBLAS, TransformerEngine and the like, inside the allocator.
int64_t LibraryBytes(const Job& job);

// Send and receive buffers of the pipeline and workspaces of libraries, inside the allocator.
int64_t BufferBytes(const Job& job, const Parallelism& p, const PackShape& largest);

// Weights, gradients and optimizer state of a layer on one GPU, as the job's ZeroStage shards them.
struct ShardedBytes {
  double weights = 0, gradients = 0, optimizer = 0;
};
ShardedBytes ShardedBytesOf(const Training& training, const Parallelism& p, const LayerWork& work);

// 16-bit weight gradients that a layer's backward pass holds on their way to the gradient buffer.
double WeightGradientBytes(const Training& training, const LayerWork& work);

// Ranks that hold copies of a layer's weights outside routed experts, and of these.
int64_t WeightCopies(const Parallelism& p);
int64_t ExpertCopies(const Training& training, const Parallelism& p);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MEMORY_H_
