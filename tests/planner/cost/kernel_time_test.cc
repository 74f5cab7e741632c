#include "planner/cost/kernel_time.h"

#include <gtest/gtest.h>

#include "planner/catalog/catalog.h"
#include "planner/cost/layer_profile.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

TEST(KernelTimeTest, MatrixOnA100ByHand) {
  const KernelTime kernels(FindGpu("a100-sxm-80gb")->spec);
  // 312e12 x 0.836 x 0.92 FLOP/s; (4096 + 50)(4096 + 100) products per row, 50 rows of ramp-up.
  const double flops_per_ns = 312e12 * 0.836 * 0.92 / 1e9;
  const double per_row = 2.0 * 4146 * 4196 / flops_per_ns;
  const Affine matrix = kernels.Matrix(4096, 4096);
  EXPECT_NEAR(matrix.per_row, per_row, 1e-9 * per_row);
  EXPECT_NEAR(matrix.constant, 3000 + 50 * per_row, 1e-6);
  EXPECT_NEAR(matrix.at(4096), 3000 + 4146 * per_row, 1e-3);
}

TEST(KernelTimeTest, AttentionOnA100ByHand) {
  const KernelTime kernels(FindGpu("a100-sxm-80gb")->spec);
  const double causal = 312e3 * 0.575 * 0.92 * (1 + 22.0 / 128);  // FLOP/ns
  const KernelTime::Causal c = kernels.CausalAttention(32, 8, 128);
  EXPECT_NEAR(c.per_squared, 2.0 * 32 * 150 / causal, 1e-12);
  EXPECT_NEAR(c.per_token, 2.0 * 32 * 150 / causal * (408 + 500.0 * 8 / 32), 1e-9);
  EXPECT_DOUBLE_EQ(c.constant, 16e3);
  const double full = 312e3 * 0.69 * 0.92 * (1 + 22.0 / 128);
  EXPECT_NEAR(kernels.EncoderAttention(25, 128, 1025).per_row, 4.0 * 25 * (1025 + 50) * 150 / full,
              1e-9);
}

TEST(KernelTimeTest, StreamsAndOptimizerByHand) {
  const GpuSpec& gpu = FindGpu("h100-sxm-80gb")->spec;
  const KernelTime kernels(gpu);
  const double bytes_per_ns = gpu.hbm_bytes_per_second * 0.8 * 1e-9;
  EXPECT_NEAR(kernels.MemoryBound(1000).at(64), 3000 + 64'000 / bytes_per_ns, 1e-6);
  // 3 x (read + write) of fp32, a gradient read, a weight written: 30 bytes.
  EXPECT_NEAR(kernels.OptimizerUpdate(1e9), 3000 + 30e9 / bytes_per_ns, 1e-3);
}

TEST(KernelTimeTest, GrowsWithEveryDimensionOnEveryGpu) {
  for (const GpuEntry& entry : Gpus()) {
    const KernelTime kernels(entry.spec);
    for (const int64_t n : {64, 1000, 4096, 30000}) {
      EXPECT_GT(kernels.Matrix(n + 64, n).per_row, kernels.Matrix(n, n).per_row);
      EXPECT_GT(kernels.Matrix(n, n + 64).per_row, kernels.Matrix(n, n).per_row);
      EXPECT_GT(kernels.EncoderAttention(16, 64, n + 1).per_row,
                kernels.EncoderAttention(16, 64, n).per_row);
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

TEST(GpuRatesTest, SaysWhereFiguresComeFrom) {
  EXPECT_EQ(RatesOf(FindGpu("a100-sxm-80gb")->spec).basis, Basis::kFitted);
  for (const GpuEntry& entry : Gpus()) {
    const GpuRates rates = RatesOf(entry.spec);
    EXPECT_FALSE(rates.source.empty()) << entry.spec.name;
    for (const double share : {rates.matrix_efficiency, rates.causal_efficiency,
                               rates.encoder_efficiency, rates.collective_efficiency}) {
      EXPECT_GT(share, 0.1) << entry.spec.name;
      EXPECT_LT(share, 1) << entry.spec.name;
    }
  }
}

// A layer of InternViT-6B over 9 tiles does 2 x 9225 x 123 M products: 3.1 TFLOP with attention, a
// third of a second at 10 TFLOP/s and 10 ms at the peak.
TEST(LayerTimeTest, InternVitLayerOnA100) {
  Job job = QuickstartJob();
  const PackShape pack{.units = 9, .tokens = 4096, .squared = 4096.0 * 2000};
  const LayerProfile profile = BuildLayerProfile(job, {1, 1, 32}, pack, pack);
  for (const LayerCost& layer : profile.kinds) {
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

}  // namespace
}  // namespace evenkeel::planner
