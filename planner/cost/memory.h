// Memory of one GPU by part: docs/COST_MODEL.md, section 4.
#ifndef EVENKEEL_PLANNER_COST_MEMORY_H_
#define EVENKEEL_PLANNER_COST_MEMORY_H_

#include <cstdint>

#include "planner/cost/layer_operation.h"
#include "planner/cost/pack_cost.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

struct Plan;
enum class MemoryFit;

// Bytes of a weight in 16 bits.
inline constexpr int64_t kWeightBytes = 2;

// Bytes that an offloaded parameter takes in host memory besides its states: its gradient in fp32,
// which the copies go to.
inline constexpr double kHostGradientBytes = 4;

// Each part of one layer's memory is capped at kPartBytesAtMost. No GPU holds as much (the contract
// ends at 2^42 bytes), and capped sums over a pipeline fit in 64 bits. A layer's workspace has
// several such parts, so its cap is larger: the workspace is never less than one of its parts.
inline constexpr int64_t kPartBytesAtMost = int64_t{1} << 43;
inline constexpr int64_t kWorkspaceBytesAtMost = int64_t{1} << 46;

// Returns the bytes of the CUDA context, loaded kernels and handles of cuBLAS and cuDNN, outside
// the allocator. An assumption.
int64_t FrameworkBytes();

// Returns the bytes of NCCL's channels, outside the allocator. An assumption.
int64_t CommunicationBytes();

// Returns the bytes that the caching allocator reserves on top of `allocated`: 4.3%, the mean of
// 344 measured rank samples.
int64_t AllocatorReserve(int64_t allocated);

// Returns the bytes that a plan may use: 99% of the marketing size counted in GiB (79.2 of 80 GiB
// on A100 and H100), less the bytes that the job keeps free.
int64_t CapacityBytes(const Cluster& cluster);

// Returns CapacityBytes(job.cluster) less the margin for prediction errors that the job asks for.
int64_t CapacityBytes(const Job& job);

// Returns the most bytes that may be allocated so that the reserve and the framework still fit.
// Negative if not even those fit.
int64_t AllocatableBytes(const Cluster& cluster);
int64_t AllocatableBytes(const Job& job);

// Returns at which ends of the memory interval the plan's fullest stage, or the stage of its
// misfit, fits.
MemoryFit MemoryFitOf(const Job& job, const Plan& plan);

// Returns whether the optimizer stores remainders of master weights: of whole weights in bfloat16,
// with states on the GPU.
bool StoresRemainders(const Training& training, const OptimizerRecord& optimizer);

// Returns the bytes of states that an optimizer holds for a parameter, besides its weight.
double StateBytes(const Training& training, const OptimizerRecord& optimizer);

// Returns the bytes of workspaces of cuBLAS, TransformerEngine and similar libraries, inside the
// allocator.
int64_t LibraryBytes(const Job& job);

// Returns the bytes of the pipeline's send and receive buffers, of rows that experts gather, and of
// the libraries' workspaces, inside the allocator.
int64_t BufferBytes(const Job& job, const Parallelism& p, const PackShape& largest);

// Returns the bytes per parameter, beyond the 16-bit weight's 2, of a weight whose products are
// quantised. It has one quantised copy for each layout that products read, in addition to the
// 16-bit weight or in its place.
double QuantisedWeightBytes(const Job& job);

// Returns whether the trainer holds, and gathers, weights in the format of the recipe's products.
bool HoldsQuantisedWeights(const Training& training);

// Weights, gradients and optimizer state of a layer on one GPU, as the job's ZeroStage shards them.
struct ShardedBytes {
  double weights = 0, gradients = 0, optimizer = 0;
  double buckets = 0;    // copies of gradients for the reduction
  double casts = 0;      // of weights; autocast keeps them for the backward pass
  double offloaded = 0;  // states of the optimizer in host memory
  double update = 0;     // held only during the optimizer's step
  double in_turn = 0;    // gradients and update under Training::fused_step
  double updated = 0;    // number of parameters that the rank updates

  // Returns the weights with their buckets and casts.
  double WithCopies(bool has_backward) const {
    return weights + buckets + (has_backward ? casts : 0);
  }
};
ShardedBytes ShardedBytesOf(const Job& job, const Parallelism& p, const LayerWork& work);

// Returns whether a kernel adds each 16-bit weight gradient to a buffer: Megatron without its
// fusion. The kernel rates of trainers that have only eager modules include it.
bool AddsWeightGradients(const Training& training);

// Returns the bytes of a value in the buffer to which products, or such a kernel, add weight
// gradients. The kernel rates of other trainers than Megatron's were fitted with 4.
double GradientBytes(const Training& training);

// Returns the bytes of 16-bit weight gradients that a layer's backward pass holds until they are in
// the gradient buffer.
double WeightGradientBytes(const Training& training, const LayerWork& work);

// Returns the ranks among `copies` that share the states of one copy: Training::zero_group.
int64_t ShardRanks(const Training& training, int64_t copies);

// Return the number of ranks that hold copies of a layer's weights: WeightCopies outside routed
// experts, ExpertCopies for routed experts.
int64_t WeightCopies(const Parallelism& p);
int64_t ExpertCopies(const Training& training, const Parallelism& p);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MEMORY_H_
