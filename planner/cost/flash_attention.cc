#include "planner/cost/flash_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/hardware/generations.h"

namespace evenkeel::planner {
namespace {

// A figure for heads of 64, 128, 192 and 256. Between them it is linear.
using BySize = std::array<double, 4>;

// Measured on one H100 with PyTorch 2.11: FlashAttention-2 and cuDNN 9.19, heads of 64 to 256,
// sequences of 576 to 32,768 tokens (tests/measure/h100.jsonl, section "attention"). Ratios of 192
// are those of keys of 192 and values of 128.
struct Kernel {
  BySize causal_forward, full_forward, causal_backward, full_backward;
  double backward_bytes = 0;
};
constexpr Kernel kBest = {.causal_forward = {1, 1, 1, 1},
                          .full_forward = {1, 1, 1, 1},
                          .causal_backward = {2.36, 2.79, 3.04, 3.89},
                          .full_backward = {2.1, 2.52, 2.75, 3.5},
                          .backward_bytes = 14};
constexpr Kernel kFlash2 = {.causal_forward = {1.59, 1.95, 2.0, 2.2},
                            .full_forward = {1.41, 1.6, 1.7, 1.9},
                            .causal_backward = {2.46, 2.46, 2.5, 2.54},
                            .full_backward = {2.72, 2.72, 2.72, 2.72},
                            .backward_bytes = 31};

constexpr double kGradientBytes = 4;  // of a query, in fp32
// cuDNN's deterministic backward pass on Hopper stores a 16-bit gradient for each pair (the
// dP workspace of cudnn-frontend, pull request 398; cuDNN 9.25 has another for large ones).
constexpr double kPairBytes = 2;

double At(const BySize& figures, int64_t head_size) {
  const double place = std::clamp(D(head_size) / 64 - 1, 0.0, 3.0);
  const size_t below = std::min<size_t>(static_cast<size_t>(place), 2);
  const double share = place - static_cast<double>(below);
  return figures[below] + share * (figures[below + 1] - figures[below]);
}

constexpr double kFlash2Dropout = 1.05;  // time with dropout, over that without

AttentionKernel KernelOf(const FlashPass& pass, const GpuCosts& gpu) {
  const bool two = pass.deterministic && !RecordOf(gpu.generation).deterministic_cudnn;
  return two ? AttentionKernel::kFlash2 : pass.kernel;
}

// In FlashAttention-2's deterministic backward pass, each thread block sums the gradients of the
// queries over every n-th block of keys, and there are just enough thread blocks for all processors
// (run_flash_bwd_seqk_parallel of flash_bwd_launch_template.h). A last wave that is not full costs
// as much as a full one. Each group has a copy of the gradients, which is cleared and read. The
// kernel that is not deterministic has the first copy too.
void AddGroups(const FlashPass& pass, const GpuCosts& gpu, FlashRatios& ratios) {
  if (pass.sequences <= 0) return;
  const double groups = std::ceil(gpu.processors / pass.sequences);
  const double blocks = groups * pass.sequences;
  ratios.backward *= std::ceil(blocks / gpu.processors) * gpu.processors / blocks;
  ratios.backward_bytes += 2 * kGradientBytes * (groups - 1);
  ratios.copies = groups;
}

}  // namespace

FlashRatios RatiosOf(const FlashPass& pass, const GpuCosts& gpu, const CostConstants& constants) {
  const AttentionKernel kernel = KernelOf(pass, gpu);
  const bool slower = kernel == AttentionKernel::kFlash2 && gpu.beyond_flash2;
  const Kernel& k = slower ? kFlash2 : kBest;
  FlashRatios ratios{.forward = At(pass.causal ? k.causal_forward : k.full_forward, pass.head_size),
                     .backward = constants.attention_backward};
  const GenerationRecord& generation = RecordOf(gpu.generation);
  if (slower || generation.measured_backward) {
    ratios.backward = At(pass.causal ? k.causal_backward : k.full_backward, pass.head_size);
    ratios.backward_bytes = k.backward_bytes;
  }
  if (pass.dropout) {
    const double forward = slower ? kFlash2Dropout : generation.dropout_forward;
    ratios.forward *= forward;
    // The ratio is relative to a forward pass that has dropout too.
    ratios.backward *= (slower ? kFlash2Dropout : generation.dropout_backward) / forward;
  }
  if (!pass.deterministic) return ratios;
  if (kernel == AttentionKernel::kFlash2) {
    AddGroups(pass, gpu, ratios);
  } else {
    ratios.pair_bytes = kPairBytes;
  }
  return ratios;
}

}  // namespace evenkeel::planner
