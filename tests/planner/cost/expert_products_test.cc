// Products of a rank's experts: one after another, on four streams, or in one launch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "planner/base/integers.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/layer_builder.h"
#include "planner/cost/transformer_layer.h"
#include "planner/hardware/gpus.h"
#include "planner/trainer/precision.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// Microseconds of both passes' products on one H200: tests/measure/h200.jsonl, section "experts".
struct MeasuredProducts {
  int64_t experts, hidden, ffn, rows;
  double in_turn[3], streams[3];  // forward, input gradient, weight gradient
  double grouped;                 // forward
};

constexpr MeasuredProducts kMeasured[] = {
    {8, 7168, 4096, 256, {209.1, 216.2, 341.3}, {216.1, 215.5, 254.4}, 175.2},
    {8, 7168, 4096, 1024, {677.1, 792.1, 784.0}, {698.2, 708.6, 734.0}, 697.7},
    {16, 4096, 3072, 256, {228.1, 209.5, 309.0}, {220.5, 206.9, 224.8}, 155.4},
    {16, 4096, 3072, 1024, {562.4, 623.5, 718.5}, {617.1, 615.0, 613.8}, 614.0},
    {16, 2048, 1536, 256, {108.3, 96.5, 103.4}, {79.4, 93.1, 79.4}, 56.0},
    {16, 2048, 1536, 1024, {181.8, 191.8, 191.8}, {178.5, 170.5, 169.7}, 154.9},
    {16, 2048, 2816, 256, {134.4, 132.0, 148.5}, {121.0, 144.9, 117.9}, 83.4},
    {16, 2048, 2816, 1024, {303.0, 291.7, 368.0}, {309.4, 293.0, 297.6}, 306.1},
    {4, 4096, 28672, 256, {395.7, 390.6, 590.1}, {421.9, 441.6, 496.6}, 342.8},
    {4, 4096, 28672, 1024, {1423.2, 1354.2, 1567.7}, {1401.8, 1376.5, 1435.0}, 1416.5},
};

// A single H200 keeps .84 of the clock of short kernels, as one H100 does.
constexpr CostConstants kAlone{.hopper_clock = 0.84};

// Returns the first product of the experts of a rank.
LayerOperation ProductOf(const MeasuredProducts& m, const Execution& execution, bool megatron,
                         bool expert = true) {
  Cluster cluster = ClusterOf("h200-sxm-141gb", 8);
  const KernelTime kernels(cluster.gpu, kAlone);
  const Network network(cluster, kAlone);
  const Parallelism one;
  const double tokens = D(m.experts * m.rows);
  const Dataset dataset{.bins = {{.llm_tokens = m.experts * m.rows, .count = 1}}};
  const RankSetting setting{.kernels = kernels,
                            .network = network,
                            .cluster = cluster,
                            .execution = execution,
                            .parallelism = one,
                            .dataset = dataset,
                            .recipe = RecipeOf(Precision::k16Bit),
                            .mean = {.tokens = tokens, .squared = tokens * tokens},
                            .equal_packs = true,
                            .transformer_engine = megatron,
                            .adds_weight_gradients = true};
  LayerBuilder b(setting, TokenRows(one), TrainMode::kFull, {});
  b.Begin("experts");
  b.AddLinear({.in = m.hidden, .out = m.ffn, .copies = m.experts, .expert = expert});
  return b.operation();
}

double Microseconds(const PackCost& cost, const MeasuredProducts& m) {
  const double tokens = D(m.experts * m.rows);
  return cost.at({.tokens = tokens, .squared = tokens * tokens}) / 1e3;
}

TEST(ExpertProductsTest, OneLaunchTakesAsLongAsMeasured) {
  for (const MeasuredProducts& m : kMeasured) {
    const double us = Microseconds(ProductOf(m, {}, /*megatron=*/false).matrices, m);
    EXPECT_NEAR(us / m.grouped, 1, 0.11) << m.hidden << " " << m.ffn << " " << m.rows;
  }
}

TEST(ExpertProductsTest, FourStreamsTakeAsLongAsMeasured) {
  double sum = 0;
  for (const MeasuredProducts& m : kMeasured) {
    const LayerOperation product = ProductOf(m, {}, /*megatron=*/true);
    for (const auto& [cost, measured] : {std::pair(product.matrices, m.streams[0]),
                                         std::pair(product.input_gradients, m.streams[1])}) {
      const double error = Microseconds(cost, m) / measured - 1;
      EXPECT_LT(std::abs(error), 0.3) << m.hidden << " " << m.ffn << " " << m.rows;
      sum += std::abs(error);
    }
  }
  EXPECT_LT(sum / 20, 0.09);
}

TEST(ExpertProductsTest, ProductsInTurnTakeAsLongAsMeasured) {
  double sum = 0;
  for (const MeasuredProducts& m : kMeasured) {
    const Execution apart{.grouped_experts = false};
    const LayerOperation product = ProductOf(m, apart, /*megatron=*/true);
    sum += std::abs(Microseconds(product.matrices, m) / m.in_turn[0] - 1);
    sum += std::abs(Microseconds(product.input_gradients, m) / m.in_turn[1] - 1);
  }
  EXPECT_LT(sum / 20, 0.14);
}

// Streams fill half of what is idle: all three passes lie midway.
TEST(ExpertProductsTest, StreamsLieBetweenTheOthers) {
  const MeasuredProducts& m = kMeasured[4];
  const auto at = [&](bool grouped, bool megatron, PackCost LayerOperation::*pass) {
    const Execution execution{.grouped_experts = grouped};
    return Microseconds(ProductOf(m, execution, megatron).*pass, m);
  };
  for (PackCost LayerOperation::*pass :
       {&LayerOperation::matrices, &LayerOperation::input_gradients}) {
    const double start = 12;  // of a grouped kernel
    EXPECT_NEAR(at(true, true, pass), (at(false, true, pass) + at(true, false, pass) - start) / 2,
                1e-6);
    EXPECT_LT(at(true, false, pass), 0.6 * at(false, false, pass));
  }
  EXPECT_LT(at(true, true, &LayerOperation::weight_gradients),
            at(false, true, &LayerOperation::weight_gradients));
}

// Such as the output groups of DeepSeek-V4, one einsum.
TEST(ExpertProductsTest, CopiesInOtherLayersAreOneLaunchForAllTrainers) {
  const MeasuredProducts& m = kMeasured[4];
  const double grouped = Microseconds(ProductOf(m, {.grouped_experts = true}, false).matrices, m);
  for (const bool megatron : {false, true}) {
    for (const bool groups : {false, true}) {
      const Execution execution{.grouped_experts = groups};
      const LayerOperation product = ProductOf(m, execution, megatron, /*expert=*/false);
      EXPECT_NEAR(Microseconds(product.matrices, m), grouped - 12, 1e-6);
    }
  }
}

TEST(ExpertProductsTest, OneCopyIsOneProduct) {
  const KernelTime kernels(FindGpu("h200-sxm-141gb")->spec);
  for (const int64_t rows : {0, 100, 5000}) {
    EXPECT_EQ(kernels.Matrix(1536, 2048, rows, NumberFormat::k16Bit, 1).at(5000),
              kernels.Matrix(1536, 2048, rows).at(5000));
    // Eight times the tiles, and one launch.
    const double one = kernels.Matrix(4096, 4096, 4096).at(4096);
    const double eight = kernels.Matrix(4096, 4096, 4096, NumberFormat::k16Bit, 8).at(8 * 4096);
    EXPECT_LT(eight, 8 * one);
    EXPECT_GT(eight, 7.8 * (one - 2500));
  }
}

}  // namespace
}  // namespace evenkeel::planner
