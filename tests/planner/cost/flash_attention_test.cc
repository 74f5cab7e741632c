// Compares the backward pass of flash attention, and FlashAttention-2 with the best kernels, with
// measurements of one H100 (tests/measure/h100.jsonl, section "attention").
#include "planner/cost/flash_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "planner/base/integers.h"
#include "planner/cost/kernel_time.h"
#include "planner/hardware/gpus.h"

namespace evenkeel::planner {
namespace {

constexpr AttentionKernel kBest = AttentionKernel::kFlash, kTwo = AttentionKernel::kFlash2;

struct Measured {
  AttentionKernel kernel = kBest;
  int64_t batch = 0, length = 0, heads = 0, head_size = 0;
  bool causal = true;
  double forward_us = 0, backward_us = 0;
};

// cuDNN 9.19 and PyTorch 2.11's FlashAttention-2.
const Measured kRows[] = {
    {kTwo, 16, 1024, 16, 64, true, 170, 549},     {kBest, 16, 1024, 16, 64, true, 108, 385},
    {kTwo, 16, 1024, 16, 128, true, 280, 968},    {kBest, 16, 1024, 16, 128, true, 152, 600},
    {kBest, 16, 1024, 16, 192, true, 199, 880},   {kTwo, 16, 1024, 8, 256, true, 277, 1086},
    {kBest, 16, 1024, 8, 256, true, 149, 722},    {kTwo, 8, 2048, 16, 64, true, 279, 863},
    {kBest, 8, 2048, 16, 64, true, 183, 574},     {kTwo, 8, 2048, 16, 128, true, 484, 1520},
    {kBest, 8, 2048, 16, 128, true, 258, 879},    {kBest, 8, 2048, 16, 192, true, 327, 1238},
    {kTwo, 8, 2048, 8, 256, true, 519, 1814},     {kBest, 8, 2048, 8, 256, true, 253, 1114},
    {kTwo, 2, 8192, 16, 64, true, 1013, 2766},    {kBest, 2, 8192, 16, 64, true, 630, 1682},
    {kTwo, 2, 8192, 16, 128, true, 1928, 5078},   {kBest, 2, 8192, 16, 128, true, 880, 2577},
    {kBest, 2, 8192, 16, 192, true, 1119, 3714},  {kTwo, 2, 8192, 8, 256, true, 1980, 5721},
    {kBest, 2, 8192, 8, 256, true, 859, 3312},    {kTwo, 1, 16384, 16, 64, true, 1981, 5052},
    {kBest, 1, 16384, 16, 64, true, 1213, 3003},  {kTwo, 1, 16384, 16, 128, true, 3559, 8687},
    {kBest, 1, 16384, 16, 128, true, 1704, 4810}, {kBest, 1, 16384, 16, 192, true, 2228, 7007},
    {kTwo, 1, 16384, 8, 256, true, 4018, 10708},  {kBest, 1, 16384, 8, 256, true, 1664, 6606},
    {kTwo, 16, 1025, 16, 64, false, 305, 1015},   {kBest, 16, 1025, 16, 64, false, 224, 615},
    {kTwo, 16, 1025, 25, 128, false, 736, 2595},  {kBest, 16, 1025, 25, 128, false, 461, 1443},
    {kTwo, 16, 729, 16, 72, false, 220, 775},     {kBest, 16, 729, 16, 72, false, 148, 471},
};

FlashRatios RatiosOn(const char* gpu, const Measured& row) {
  return KernelTime(FindGpu(gpu)->spec).Flash(row.kernel, row.head_size, row.causal);
}

TEST(FlashAttentionTest, BackwardPassesAreAsLongAsMeasured) {
  const KernelTime kernels(FindGpu("h100-sxm-80gb")->spec);
  double sum = 0;
  for (const Measured& row : kRows) {
    const FlashRatios ratios = RatiosOn("h100-sxm-80gb", row);
    const double values = D(row.batch * row.length * row.heads * row.head_size);
    const double us = ratios.backward * row.forward_us +
                      kernels.MemoryBound(ratios.backward_bytes).per_row * values * 1e-3;
    const double error = us / row.backward_us - 1;
    EXPECT_LT(std::abs(error), .18) << row.length << " tokens, heads of " << row.head_size;
    sum += std::abs(error);
  }
  EXPECT_LT(sum / static_cast<double>(std::size(kRows)), .05);
}

TEST(FlashAttentionTest, FlashAttention2IsSlowerByAsMuchAsMeasured) {
  for (const Measured& slow : kRows) {
    if (slow.kernel != kTwo) continue;
    for (const Measured& best : kRows) {
      if (best.kernel != kBest || best.length != slow.length || best.head_size != slow.head_size)
        continue;
      const double ratio = RatiosOn("h100-sxm-80gb", slow).forward;
      EXPECT_NEAR(ratio / (slow.forward_us / best.forward_us), 1, .19)
          << slow.length << " tokens, heads of " << slow.head_size;
    }
  }
}

// Where FlashAttention-2 is the best kernel, both are one.
TEST(FlashAttentionTest, AmpereHasOneFlashKernel) {
  for (const bool causal : {true, false}) {
    const FlashRatios two =
        RatiosOn("a100-sxm-80gb", {.kernel = kTwo, .head_size = 128, .causal = causal});
    const FlashRatios best =
        RatiosOn("a100-sxm-80gb", {.kernel = kBest, .head_size = 128, .causal = causal});
    EXPECT_EQ(two.forward, 1);
    EXPECT_EQ(two.backward, best.backward);
  }
}

TEST(FlashAttentionTest, FiguresBetweenMeasuredSizesAreBetweenThoseOfTheirNeighbours) {
  for (int64_t size = 32; size < 320; size += 8) {
    const auto at = [&](int64_t head_size) {
      return RatiosOn("b200-sxm-180gb", {.kernel = kTwo, .head_size = head_size}).forward;
    };
    EXPECT_LE(at(size), at(size + 8));
    EXPECT_GE(at(size), at(64));
    EXPECT_LE(at(size), at(256));
  }
}

}  // namespace
}  // namespace evenkeel::planner
