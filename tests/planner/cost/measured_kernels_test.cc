// Compares kernel times with measured ones that were not used for fitting. docs/BENCHMARKS.md gives
// the errors on whole tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "planner/cost/kernel_time.h"
#include "planner/cost/network.h"
#include "planner/hardware/gpus.h"
#include "tests/planner/cost/measured_kernels.h"
#include "tests/planner/cost/measured_low_precision.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// Bounds on the errors, as reached on these rows.
struct Bounds {
  double mean = 0, worst = 0;
};

// The clock of the tables, not of a training run, from the same run of fit_kernels.py. It falls by
// `droop` in kernels longer than droop_us.
struct Products {
  const char* gpu;
  double droop, droop_us;
  Bounds errors;
  const std::vector<MeasuredMatrix>& rows;
};
const Products kProducts[] = {
    {"a100-sxm-80gb", .0099, 100, {.05, .24}, kA100Products},
    {"h100-sxm-80gb", .0893, 471, {.07, .14}, kH100Products},
    {"h200-sxm-141gb", .141, 549, {.05, .13}, kH200Products},
    {"b200-sxm-180gb", .0881, 908, {.07, .19}, kB200Products},
    {"gb200-186gb", .987, 999, {.08, .19}, kGb200Products},
    {"l40s-48gb", .433, 283, {.10, .23}, kL40sProducts},
    {"b300-sxm-288gb", 0.178, 717, {.08, .27}, kB300Products},
    {"gb300-288gb", 0.0749, 1.1e+03, {.07, .22}, kGb300Products},
    {"rtx-pro-6000-96gb", 0.0436, 1.87e+03, {.07, .17}, kRtxPro6000Products},
};

// Rotary embedding and cache writes from the same run: bytes per token, and bytes per value of a
// key/value head if queries have more heads, and if they have the same number.
struct CausalKernels {
  const char* gpu;
  double token_bytes, kv_bytes, kv_equal_bytes;
  Bounds errors;
  const std::vector<MeasuredCausal>& rows;
};
const CausalKernels kCausal[] = {
    {"a100-sxm-80gb", 6730, 11.5, 5.76, {.03, .09}, kA100Causal},
    {"h100-sxm-80gb", 3450, 11.1, 7.22, {.06, .18}, kH100Causal},
    {"h200-sxm-141gb", 5030, 14.3, 8.3, {.04, .10}, kH200Causal},
    {"b200-sxm-180gb", 2350, 17, 10.3, {.05, .13}, kB200Causal},
    {"gb200-186gb", 2780, 16.4, 10.2, {.07, .31}, kGb200Causal},
    {"l40s-48gb", 82, 3.33, 4.53, {.06, .14}, kL40sCausal},
    {"b300-sxm-288gb", 2200.0, 15.9, 10.9, {.06, .22}, kB300Causal},
    {"gb300-288gb", 2640.0, 15.5, 10.9, {.06, .18}, kGb300Causal},
    {"rtx-pro-6000-96gb", 670.0, 4.84, 4.23, {.06, .18}, kRtxPro6000Causal},
};

struct EncoderKernels {
  const char* gpu;
  Bounds errors;
  const std::vector<MeasuredEncoder>& rows;
};
const EncoderKernels kEncoder[] = {
    {"h100-sxm-80gb", {.04, .09}, kH100Encoder},  {"h200-sxm-141gb", {.05, .09}, kH200Encoder},
    {"b200-sxm-180gb", {.03, .10}, kB200Encoder}, {"gb200-186gb", {.04, .17}, kGb200Encoder},
    {"l40s-48gb", {.07, .26}, kL40sEncoder},      {"b300-sxm-288gb", {.08, .14}, kB300Encoder},
    {"gb300-288gb", {.06, .18}, kGb300Encoder},
};

struct NodeCollectives {
  const char* gpu;
  Bounds errors;
  const std::vector<MeasuredCollective>& rows;
};
const NodeCollectives kCollectives[] = {
    {"a100-sxm-80gb", {.05, .28}, kA100Collectives},
    {"h100-sxm-80gb", {.04, .26}, kH100Collectives},
    {"h200-sxm-141gb", {.04, .23}, kH200Collectives},
    {"b200-sxm-180gb", {.05, .16}, kB200Collectives},
    {"gb200-186gb", {.05, .19}, kGb200Collectives},
    {"l40s-48gb", {.02, .14}, kL40sCollectives},
};

// Returns constants for short kernels, before any run has heated the chip.
CostConstants Cold() {
  CostConstants c;
  c.ampere_clock = c.ada_clock = c.hopper_clock = c.blackwell_clock = c.other_clock = 1;
  return c;
}

void ExpectErrors(const std::string& what, const std::vector<double>& ratios, Bounds bounds) {
  double sum = 0, worst = 0;
  for (const double ratio : ratios) {
    sum += std::abs(ratio - 1);
    worst = std::max(worst, std::abs(ratio - 1));
  }
  const double mean = sum / static_cast<double>(ratios.size());
  std::printf("%-30s mean %4.1f%%  worst %4.1f%%\n", what.c_str(), 100 * mean, 100 * worst);
  EXPECT_LE(mean, bounds.mean) << what;
  EXPECT_LE(worst, bounds.worst) << what;
}

// The time of the product itself depends on the clock. Launches and quantising do not.
double ProductUs(const char* gpu, const MeasuredMatrix& row, NumberFormat format, double droop,
                 double droop_us) {
  const GpuSpec& spec = FindGpu(gpu)->spec;
  const KernelTime kernels(spec, Cold());
  const double m = static_cast<double>(row.m), launch = kernels.constants().kernel_launch_ns;
  double beside = launch;
  if (format != NumberFormat::k16Bit) {
    // As the tables' kernels quantise, which are not those of a training run.
    const MatrixRates rates = *spec.costs.low.RatesOf(format);
    beside += rates.quantise_launch_ns + rates.quantise_bytes * m * static_cast<double>(row.k) /
                                             spec.hbm_bytes_per_second * 1e9;
  }
  const double us = (kernels.Matrix(row.n, row.k, row.m, format).at(m) - launch) * 1e-3;
  const double long_share = us * us / (us * us + droop_us * droop_us);
  return beside * 1e-3 + us * (1 + droop * long_share);
}

TEST(MeasuredKernelsTest, MatrixProducts) {
  for (const Products& table : kProducts) {
    std::vector<double> ratios;
    for (const MeasuredMatrix& row : table.rows) {
      ratios.push_back(
          ProductUs(table.gpu, row, NumberFormat::k16Bit, table.droop, table.droop_us) / row.us);
    }
    ExpectErrors(std::string(table.gpu) + " matrix", ratios, table.errors);
  }
}

TEST(MeasuredKernelsTest, LowPrecisionProducts) {
  for (const LowPrecisionProducts& table : kLowPrecisionProducts) {
    std::vector<double> ratios;
    for (const MeasuredMatrix& row : table.rows)
      ratios.push_back(ProductUs(table.gpu, row, table.format, table.droop, table.droop_us) /
                       row.us);
    const bool board = std::string(table.gpu) == "l40s-48gb";  // its tables scatter
    ExpectErrors(std::string(table.gpu) + " low precision", ratios,
                 board ? Bounds{.13, .30} : Bounds{.08, .20});
  }
}

TEST(MeasuredKernelsTest, CausalAttention) {
  for (const CausalKernels& table : kCausal) {
    const GpuSpec& spec = FindGpu(table.gpu)->spec;
    const KernelTime kernels(spec, Cold());
    std::vector<double> ratios;
    for (const MeasuredCausal& row : table.rows) {
      const KernelTime::Causal c =
          kernels.CausalAttention(row.heads, row.kv_heads, row.head_size, row.length);
      const double tokens = static_cast<double>(row.batch * row.length);
      const double kv = 2 * static_cast<double>(row.kv_heads * row.head_size) *
                        (row.heads == row.kv_heads ? table.kv_equal_bytes : table.kv_bytes);
      const double beside = tokens * (table.token_bytes + kv) / spec.hbm_bytes_per_second * 1e9;
      const double ns = c.constant + c.per_token * tokens +
                        c.per_squared * tokens * static_cast<double>(row.length);
      ratios.push_back((ns + beside) / row.us * 1e-3);
    }
    ExpectErrors(std::string(table.gpu) + " causal", ratios, table.errors);
  }
}

TEST(MeasuredKernelsTest, EncoderAttention) {
  for (const EncoderKernels& table : kEncoder) {
    const KernelTime kernels(FindGpu(table.gpu)->spec, Cold());
    std::vector<double> ratios;
    for (const MeasuredEncoder& row : table.rows) {
      const int64_t rows = row.batch * row.length;
      const Affine line = kernels.EncoderAttention(row.heads, row.head_size, row.length, rows);
      ratios.push_back(line.at(static_cast<double>(rows)) / row.us * 1e-3);
    }
    ExpectErrors(std::string(table.gpu) + " encoder", ratios, table.errors);
  }
}

TEST(MeasuredKernelsTest, Collectives) {
  for (const NodeCollectives& table : kCollectives) {
    const Network network(ClusterOf(table.gpu, 8));
    std::vector<double> ratios;
    for (const MeasuredCollective& row : table.rows) {
      ratios.push_back(network.NodeCollective(row.op, row.ranks, static_cast<double>(row.bytes)) /
                       row.us * 1e-3);
    }
    ExpectErrors(std::string(table.gpu) + " collectives", ratios, table.errors);
  }
}

// Compares with FlashAttention-3's paper (Shah 2024, figure 5, causal, head size 128, 16K tokens of
// 16 heads on H100). Its TFLOP/s were measured with other code on another machine, and nothing is
// fitted on them.
TEST(MeasuredKernelsTest, CausalAttentionOnH100AsPublished) {
  const struct {
    int64_t length;
    double tflops;
  } rows[] = {{512, 292}, {1024, 423}, {2048, 521}, {4096, 579}, {8192, 602}, {16384, 616}};
  const KernelTime kernels(FindGpu("h100-sxm-80gb")->spec, Cold());
  const KernelTime::Causal c = kernels.CausalAttention(16, 16, 128);
  std::vector<double> ratios;
  for (const auto& row : rows) {
    const double s = static_cast<double>(row.length), tokens = 16384;
    const double ns = c.constant + c.per_token * tokens + c.per_squared * tokens * s;
    ratios.push_back(2 * 16 * 128 * tokens * s / row.tflops * 1e-3 / ns);
  }
  ExpectErrors("h100 FlashAttention-3", ratios, {.07, .11});
}

}  // namespace
}  // namespace evenkeel::planner
