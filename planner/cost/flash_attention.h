// Times of flash attention's passes on one GPU, in addition to the forward times of kernel_time.h:
// docs/COST_MODEL.md, section 2.2.
#ifndef EVENKEEL_PLANNER_COST_FLASH_ATTENTION_H_
#define EVENKEEL_PLANNER_COST_FLASH_ATTENTION_H_

#include <cstdint>

#include "planner/cost/cost_constants.h"
#include "planner/hardware/gpu_costs.h"
#include "planner/trainer/execution.h"

namespace evenkeel::planner {

// An attention that a flash kernel computes.
struct FlashPass {
  AttentionKernel kernel = AttentionKernel::kFlash;  // not kUnfused
  int64_t head_size = 0;
  bool causal = true;  // false for full (bidirectional) sequences
  bool dropout = false;
  bool deterministic = false;
  double sequences = 0;  // heads times samples of a pack; 0 for many
};

struct FlashRatios {
  double forward = 1;   // over the forward pass of the GPU's best kernels
  double backward = 1;  // over this kernel's own forward pass
  // Bytes of memory that the backward pass moves per value of the queries, besides its products: it
  // reads the output and its gradient, and collects the gradients of queries.
  double backward_bytes = 0;
  double copies = 1;  // fp32 copies of the queries' gradients
  // Bytes that the backward pass stores, and reads back, for each pair of tokens that see each
  // other.
  double pair_bytes = 0;
};

FlashRatios RatiosOf(const FlashPass& pass, const GpuCosts& gpu, const CostConstants& constants);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_FLASH_ATTENTION_H_
