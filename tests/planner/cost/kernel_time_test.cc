#include "planner/cost/kernel_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/cost_constant_list.h"
#include "planner/cost/layer_profile.h"
#include "planner/hardware/gpus.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr double kAmpereClock = CostConstants{}.ampere_clock;

const GpuSpec& A100() { return FindGpu("a100-sxm-80gb")->spec; }
const GpuSpec& H100() { return FindGpu("h100-sxm-80gb")->spec; }

TEST(KernelTimeTest, MatrixOnA100ByHand) {
  const KernelTime kernels(A100());
  // 4096 rows: 32 x 16 tiles of 128 x 256 on 108 processors are 4.74 waves. 0.99 of the idle part
  // of the fifth wave costs time.
  const double flops_per_ns = 312e3 * 0.955 * kAmpereClock;
  const double wave = 2.0 * 128 * 256 * 108 * (4096 + 206) / flops_per_ns;
  const double waves = 512.0 / 108;
  const Affine exact = kernels.Matrix(4096, 4096, 4096);
  EXPECT_NEAR(exact.at(4096), 2500 + (waves + 0.99 * (5 - waves)) * wave, 1e-3);
  EXPECT_NEAR(exact.per_row, waves / 4096 * wave, 1e-9);
  // Packs of many lengths: half a tile of rows and half a wave more.
  const Affine mean = kernels.Matrix(4096, 4096);
  EXPECT_DOUBLE_EQ(mean.per_row, exact.per_row);
  EXPECT_NEAR(mean.constant, 2500 + 64 * mean.per_row + 0.99 / 2 * wave, 1e-3);
}

TEST(KernelTimeTest, DeepProductsOfFewTilesSplit) {
  const KernelTime kernels(A100());
  // 1024 x 1024: 64 square tiles on 108 processors are one wave, 0.59 full. If the product is split
  // along k, all processors work, at the cost of 2680 products.
  const double square = 2.0 * 128 * 128 * 108 / (312e3 * 0.955 * kAmpereClock * 0.749);
  const double whole = 2.0 * 128 * 256 * 108 / (312e3 * 0.955 * kAmpereClock);
  EXPECT_NEAR(kernels.Matrix(1024, 1024, 1024).at(1024), 2500 + square * (1024 + 206), 1e-3);
  EXPECT_NEAR(kernels.Matrix(1024, 65536, 1024).at(1024),
              2500 + 32.0 / 108 * whole * (65536 + 2680), 1e-3);
}

TEST(KernelTimeTest, ThinProductsCostTheirTraffic) {
  const KernelTime kernels(H100());
  const double bytes_per_ns = 3350 * 0.8;
  // LoRA of rank 16 reads the rows and writes little.
  const Affine down = kernels.Matrix(16, 8192, 65536);
  EXPECT_NEAR(down.per_row, (2 * 8192 + 2 * 16) / bytes_per_ns, 1e-9);
  EXPECT_NEAR(down.constant, 2500 + 2.0 * 16 * 8192 / bytes_per_ns, 1e-6);
}

TEST(KernelTimeTest, WeightGradientByHand) {
  const KernelTime kernels(A100());
  // 4096 x 4096 in 512 tiles, over the rows.
  const double tile = 2.0 * 128 * 256 * 108 / (312e3 * 0.955 * kAmpereClock);
  const double waves = 512.0 / 108, counted = waves + 0.99 * (5 - waves);
  const Affine gradient = kernels.WeightGradient(4096, 4096, 8192);
  EXPECT_NEAR(gradient.per_row, counted * tile, 1e-9);
  EXPECT_NEAR(gradient.constant, 2500 + counted * tile * 206, 1e-3);
  // A small weight over many rows is split like the same product in the forward pass.
  EXPECT_NEAR(kernels.WeightGradient(1024, 1024, 65536).at(65536),
              kernels.Matrix(1024, 65536, 1024).at(1024), 1e-3);
}

// With few rows, a product takes the time of its traffic: here, of its result.
TEST(KernelTimeTest, AGradientThatIsAddedApartIsWrittenOnce) {
  const KernelTime kernels(A100());
  const double ns = kernels.MemoryBound(4096.0 * 4096).per_row;
  const auto at = [&](double bytes) {
    return kernels.WeightGradient(4096, 4096, 64, NumberFormat::k16Bit, bytes).at(64);
  };
  EXPECT_EQ(at(8), kernels.WeightGradient(4096, 4096, 64).at(64));
  EXPECT_NEAR(at(8) - at(5), 3 * ns, 1e-6 * ns);
  EXPECT_LT(at(2), at(5));
}

TEST(KernelTimeTest, Fp8HalvesLargeProductsOnly) {
  ASSERT_TRUE(HasProducts(H100(), NumberFormat::kFp8));
  EXPECT_FALSE(HasProducts(A100(), NumberFormat::kFp8));
  const KernelTime kernels(H100());
  const auto ratio = [&](int64_t n) {
    const double quantise = kernels.Quantise(n, NumberFormat::kFp8).at(8192);
    return (quantise + kernels.Matrix(n, n, 8192, NumberFormat::kFp8).at(8192)) /
           kernels.Matrix(n, n, 8192).at(8192);
  };
  EXPECT_LT(ratio(16384), 0.65);
  EXPECT_GT(ratio(16384), 0.5);
  EXPECT_GT(ratio(512), 1);  // quantising costs more than it saves
}

TEST(KernelTimeTest, QuantisingWithAKnownScaleSkipsAPass) {
  const KernelTime kernels(H100());
  EXPECT_EQ(kernels.Quantise(4096, NumberFormat::k16Bit).at(8192), 0);
  EXPECT_LT(kernels.Quantise(4096, NumberFormat::kFp8, true).at(8192),
            kernels.Quantise(4096, NumberFormat::kFp8).at(8192));
}

TEST(KernelTimeTest, CausalAttentionByHand) {
  const KernelTime kernels(A100());
  const double flops_per_ns = 312e3 * kAmpereClock;
  const KernelTime::Causal c = kernels.CausalAttention(32, 8, 128);
  EXPECT_NEAR(c.per_squared, 2.0 * 32 * 128 / 0.597 / flops_per_ns, 1e-12);
  EXPECT_NEAR(c.per_token, 245 * c.per_squared, 1e-9);
  EXPECT_DOUBLE_EQ(c.constant, 9140);
  // The last tile of the longest sample: 128 x 4096 pairs on one processor.
  const double tail = 0.372 * 4 * 128 * 4096 * 128 / 0.597 / (flops_per_ns / 108);
  EXPECT_NEAR(kernels.CausalAttention(32, 8, 128, 4096).constant, 9140 + tail, 1e-3);
  // Between measured head sizes the cost is linear; 80 rounds up to 96.
  const double middle = (kernels.CausalAttention(32, 8, 64).per_squared + c.per_squared) / 2;
  EXPECT_NEAR(kernels.CausalAttention(32, 8, 80).per_squared, middle, 1e-9);
}

TEST(KernelTimeTest, EncoderAttentionByHand) {
  const KernelTime kernels(H100());
  // 1025 tokens are 6 tiles of 192 queries and 1152 keys. 12 heads x 9 tiles x 6 = 648 are 4.9
  // waves of 132.
  const double flops_per_ns = 989e3 * CostConstants{}.hopper_clock;
  const double tile = 4.0 * 192 * (1152 + 303) * 64 / 0.543 * 132 / flops_per_ns;
  const double waves = 12.0 * 9 * 6 / 132;
  const Affine nine = kernels.EncoderAttention(12, 64, 1025, 9 * 1025);
  EXPECT_NEAR(nine.at(9 * 1025), 6780 + (waves + 0.845 * (5 - waves)) * tile, 1e-3);
  EXPECT_NEAR(kernels.EncoderAttention(12, 64, 1025).constant, 6780 + 0.845 / 2 * tile, 1e-3);
  // Head sizes of 72 to 96 have the same cost; InternViT-6B's 128 costs more.
  const auto per_row = [&](int64_t size) {
    return kernels.EncoderAttention(12, size, 1025).per_row;
  };
  EXPECT_EQ(per_row(72), per_row(96));
  EXPECT_LT(per_row(64), per_row(72));
  EXPECT_LT(per_row(96), per_row(128));
}

TEST(KernelTimeTest, StreamsAndOptimizerByHand) {
  const KernelTime kernels(H100());
  const double bytes_per_ns = 3350 * 0.8;
  EXPECT_NEAR(kernels.MemoryBound(1000).at(64), 2500 + 64'000 / bytes_per_ns, 1e-6);
  // 3 x (read + write) of fp32, a gradient read, a weight written: 30 bytes.
  EXPECT_NEAR(kernels.OptimizerUpdate(30e9), 2500 + 30e9 / bytes_per_ns, 1e-3);
}

// Tiles are whole, so widths of one tile have the same cost; none gets cheaper by growing.
TEST(KernelTimeTest, GrowsWithEveryDimensionOnEveryGpu) {
  for (const GpuEntry& entry : Gpus()) {
    const KernelTime kernels(entry.spec);
    for (const int64_t n : {64, 1000, 4096, 30000}) {
      EXPECT_GE(kernels.Matrix(n + 256, n).per_row, kernels.Matrix(n, n).per_row);
      EXPECT_GT(kernels.Matrix(n, n + 64).per_row, kernels.Matrix(n, n).per_row);
      EXPECT_GT(kernels.Matrix(2 * n, n).per_row, kernels.Matrix(n, n).per_row);
      for (const int64_t rows : {128, 1000, 8192, 100000}) {
        const Affine line = kernels.Matrix(n, n, rows);
        EXPECT_GE(line.constant, 2500 - 1e-6) << entry.spec.name << " " << n << " " << rows;
        const double twice = 2 * static_cast<double>(rows);
        EXPECT_LE(line.at(static_cast<double>(rows)),
                  kernels.Matrix(n, n, 2 * rows).at(twice) + 1e-6);
      }
    }
    for (const int64_t length : {1000, 4096, 30000}) {
      EXPECT_GT(kernels.EncoderAttention(16, 64, 2 * length).per_row,
                kernels.EncoderAttention(16, 64, length).per_row);
    }
    double before = 0;
    for (const int64_t size : {64, 80, 96, 128, 160, 192, 224, 256, 288, 512}) {
      const double cost = kernels.CausalAttention(8, 8, size).per_squared;
      EXPECT_GE(cost, before) << entry.spec.name << " " << size;
      before = cost;
    }
    EXPECT_GT(kernels.CausalAttention(16, 16, 128).per_squared,
              kernels.CausalAttention(8, 8, 128).per_squared);
    EXPECT_GT(kernels.MemoryBound(2).at(1e6), kernels.MemoryBound(1).at(1e6));
  }
}

TEST(KernelTimeTest, NoMatrixRunsAboveThePeak) {
  for (const GpuEntry& entry : Gpus()) {
    const double seconds = KernelTime(entry.spec).Matrix(16384, 16384).at(16384) * 1e-9;
    const double rate = 2.0 * 16384 * 16384 * 16384 / seconds;
    EXPECT_LT(rate, entry.spec.dense_16bit_flops) << entry.spec.name;
    EXPECT_GT(rate, 0.3 * entry.spec.dense_16bit_flops) << entry.spec.name;
  }
}

TEST(GpuCostsTest, SaysWhereFiguresComeFrom) {
  EXPECT_EQ(A100().costs.basis, Basis::kFitted);
  EXPECT_EQ(FindGpu("h100-pcie-80gb")->spec.costs.basis, Basis::kAssumed);
  for (const GpuEntry& entry : Gpus()) {
    const GpuCosts& costs = entry.spec.costs;
    EXPECT_FALSE(costs.source.empty()) << entry.spec.name;
    ASSERT_NE(costs.collectives, nullptr) << entry.spec.name;
    EXPECT_GE(costs.processors, 78) << entry.spec.name;
    std::vector<double> shares = {costs.matrix.efficiency, costs.matrix.square_tile,
                                  costs.encoder.efficiency_64, costs.encoder.efficiency_wide};
    shares.insert(shares.end(), costs.causal.efficiency.begin(), costs.causal.efficiency.end());
    for (const double share : shares) {
      EXPECT_GT(share, 0.1) << entry.spec.name;
      EXPECT_LE(share, 1) << entry.spec.name;
    }
  }
}

// Every constant can be listed and varied, and changes some time.
TEST(CostConstantsTest, ListNamesThemAll) {
  const auto list = CostConstantList();
  EXPECT_EQ(list.size() * sizeof(double), sizeof(CostConstants));
  CostConstants constants;
  std::vector<const double*> members;
  for (const CostConstant& c : list) {
    EXPECT_GT(constants.*c.value, 0) << c.name;
    EXPECT_STRNE(c.source, "") << c.name;
    members.push_back(&(constants.*c.value));
  }
  std::sort(members.begin(), members.end());
  EXPECT_EQ(std::unique(members.begin(), members.end()), members.end());
}

TEST(CostConstantsTest, ASlowerClockSlowsProducts) {
  CostConstants slow;
  slow.hopper_clock /= 2;
  const double at = KernelTime(H100()).Matrix(8192, 8192).per_row;
  EXPECT_NEAR(KernelTime(H100(), slow).Matrix(8192, 8192).per_row, 2 * at, 1e-9 * at);
  EXPECT_EQ(KernelTime(A100(), slow).Matrix(8192, 8192).per_row,
            KernelTime(A100()).Matrix(8192, 8192).per_row);
}

// A layer of InternViT-6B over 9 tiles does 2 x 9225 x 123 M products: 3.1 TFLOP with attention, a
// third of a second at 10 TFLOP/s and 10 ms at the peak.
TEST(LayerTimeTest, InternVitLayerOnA100) {
  Job job = QuickstartJob();
  const PackShape pack{.units = 9, .tokens = 4096, .squared = 4096.0 * 2000};
  const LayerProfile profile = BuildLayerProfile(job, {1, 1, 32}, pack, pack);
  for (const LayerCost& layer : profile.classes) {
    if (layer.kind != LayerKind::kEncoder) continue;
    const double ms = static_cast<double>(layer.forward_ns) * 1e-6;
    EXPECT_GT(ms, 9.0);
    EXPECT_LT(ms, 16.0);
    const double ratio =
        static_cast<double>(layer.backward_ns) / static_cast<double>(layer.forward_ns);
    EXPECT_GT(ratio, 1.9);
    EXPECT_LT(ratio, 2.2);
  }
}

// Heads of attention: a single product fills few processors, and is quickest with its depth split.
// All of them together fill every wave.
TEST(KernelTimeTest, BatchedProductsFillAllWaves) {
  const KernelTime kernels(FindGpu("a100-sxm-80gb")->spec);
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1024, 128}, {128, 1024}}) {
    const double batched = kernels.BatchedRow(n, k, 1024);
    EXPECT_LT(batched, .9 * kernels.Matrix(n, k, 1024).per_row) << n << " " << k;
    // As one product with the rows of 64 heads, less what its columns are rounded up to.
    const double together = kernels.Matrix(n, k, 64 * 1024).at(64 * 1024) / (64 * 1024);
    EXPECT_NEAR(batched / together, 1, .1) << n << " " << k;
    EXPECT_GE(batched, 2 * (D(n) + D(k)) / 1.63e3 * .99) << n << " " << k;  // memory
  }
}

}  // namespace
}  // namespace evenkeel::planner
