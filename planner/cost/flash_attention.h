// Times of flash attention's passes on one GPU, beside the forward times of kernel_time.h:
// docs/COST_MODEL.md, section 2.2.
#ifndef EVENKEEL_PLANNER_COST_FLASH_ATTENTION_H_
#define EVENKEEL_PLANNER_COST_FLASH_ATTENTION_H_

#include <cstdint>

#include "planner/cost/cost_constants.h"
#include "planner/hardware/gpu_costs.h"
#include "planner/trainer/execution.h"

namespace evenkeel::planner {

struct FlashRatios {
  double forward = 1;   // over the forward pass of the GPU's best kernels
  double backward = 1;  // over this kernel's own forward pass
  // Bytes of memory that the backward pass moves per value of the queries, beside its products: it
  // reads the output and its gradient, and collects the gradients of queries.
  double backward_bytes = 0;
};

// `kernel` is a flash kernel. `causal` is false for full (bidirectional) sequences.
FlashRatios RatiosOf(AttentionKernel kernel, const GpuCosts& gpu, int64_t head_size, bool causal,
                     const CostConstants& constants);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_FLASH_ATTENTION_H_
