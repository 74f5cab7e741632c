// The memory of one GPU by part, in bytes.
#ifndef EVENKEEL_PLANNER_COST_MEMORY_PARTS_H_
#define EVENKEEL_PLANNER_COST_MEMORY_PARTS_H_

#include <cstdint>
#include <map>

#include "planner/model/layer_kind.h"

namespace evenkeel::planner {

struct MemoryParts {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;  // of all micro-batches in flight
  // Largest transient: of a layer that runs backward, or logits and their gradient.
  int64_t workspace = 0;
  int64_t buffers = 0;            // pipeline send and receive, workspaces of cuBLAS and the like
  int64_t communication = 0;      // NCCL's, outside the allocator
  int64_t framework = 0;          // CUDA context and libraries, outside the allocator
  int64_t allocator_reserve = 0;  // bytes of the caching allocator beyond its allocations

  // The sums below leave these out, because they are parts of fields above: `activations` by the
  // kind of layer, and the logits, their softmax and gradient in `workspace` (0 if the transient of
  // another layer is larger).
  std::map<LayerKind, int64_t> activations_by_kind;
  int64_t logits = 0;
  // Part of `allocator_reserve` that is kept for gradients, which do not exist at the peak
  // (Execution::pools_gradients).
  int64_t gradient_pool = 0;

  // These count as torch.cuda.max_memory_allocated, max_memory_reserved and nvidia-smi do.
  int64_t allocated() const {
    return weights + gradients + optimizer + activations + workspace + buffers;
  }
  int64_t reserved() const { return allocated() + allocator_reserve; }
  int64_t total() const { return reserved() + communication + framework; }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MEMORY_PARTS_H_
