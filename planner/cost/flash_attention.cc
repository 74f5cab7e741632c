#include "planner/cost/flash_attention.h"

#include <algorithm>
#include <array>

#include "planner/base/integers.h"

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

double At(const BySize& figures, int64_t head_size) {
  const double place = std::clamp(D(head_size) / 64 - 1, 0.0, 3.0);
  const size_t below = std::min<size_t>(static_cast<size_t>(place), 2);
  const double share = place - static_cast<double>(below);
  return figures[below] + share * (figures[below + 1] - figures[below]);
}

}  // namespace

FlashRatios RatiosOf(AttentionKernel kernel, const GpuCosts& gpu, int64_t head_size, bool causal,
                     const CostConstants& constants) {
  const bool two = kernel == AttentionKernel::kFlash2 && gpu.beyond_flash2;
  const Kernel& k = two ? kFlash2 : kBest;
  FlashRatios ratios{.forward = At(causal ? k.causal_forward : k.full_forward, head_size),
                     .backward = constants.attention_backward};
  if (two || gpu.generation == GpuGeneration::kHopper) {
    ratios.backward = At(causal ? k.causal_backward : k.full_backward, head_size);
    ratios.backward_bytes = k.backward_bytes;
  }
  return ratios;
}

}  // namespace evenkeel::planner
