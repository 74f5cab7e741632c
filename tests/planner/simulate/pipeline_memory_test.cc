#include "planner/simulate/pipeline_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/simulate/pipelines.h"

namespace evenkeel::planner {
namespace {

std::vector<MemoryPart> WeightsAndActivations(const PipelineShape& shape) {
  const size_t units = static_cast<size_t>(shape.virtual_stages());
  MemoryPart weights = {.name = "weights"};
  weights.static_bytes.assign(static_cast<size_t>(shape.stages), 1000);
  MemoryPart activations = {.name = "activations"};
  activations.kept_bytes.assign(units, 10);
  activations.weight_gradient_bytes.assign(units, 4);
  return {weights, activations};
}

TEST(PipelineMemoryTest, OneFOneBHoldsFromHereToTheEnd) {
  for (int64_t stages = 1; stages <= 5; ++stages) {
    for (int64_t m = 1; m <= 8; ++m) {
      const PipelineShape shape = {Schedule::kOneFOneB, stages, 1, m};
      const std::vector<MemoryPart> parts = WeightsAndActivations(shape);
      const PipelineSpec spec = EqualPipeline(shape, 3, 5, 1);
      const auto memory = MemoryOverTime(spec, SimulatePipeline(spec, true), parts);
      for (int64_t s = 0; s < stages; ++s) {
        const StageMemory& stage = memory[static_cast<size_t>(s)];
        EXPECT_EQ(stage.peak_bytes, 1000 + 10 * std::min(m, stages - s));
        EXPECT_EQ(stage.peak_parts, (std::vector<int64_t>{1000, stage.peak_bytes - 1000}));
        EXPECT_EQ(stage.peak_in_flight, MostInFlight(shape, s));
      }
    }
  }
}

TEST(PipelineMemoryTest, ZeroBubbleKeepsWhatTheWeightGradientNeeds) {
  const PipelineShape shape = {Schedule::kZeroBubble, 4, 1, 16};
  for (int64_t s = 0; s < 4; ++s) {
    const StageMemory memory = PeakMemory(shape, s, WeightsAndActivations(shape));
    EXPECT_EQ(memory.peak_bytes, 1000 + 10 * (4 - s) + 4 * s);
    EXPECT_EQ(memory.peak_in_flight, (InFlight{4 - s, s}));
  }
}

// One stage, one chunk and two micro-batches, with F 10 and B 20 ns each.
TEST(PipelineMemoryTest, CurveByHand) {
  const PipelineSpec spec = EqualPipeline({Schedule::kOneFOneB, 1, 1, 2}, 10, 20, 0);
  MemoryPart weights = {.name = "weights", .static_bytes = {100}};
  MemoryPart activations = {.name = "activations", .kept_bytes = {5, 8}};
  MemoryPart workspace = {.name = "workspace"};
  workspace.forward_workspace_bytes = {1};
  workspace.backward_workspace_bytes = {3};
  const std::vector<StageMemory> memory =
      MemoryOverTime(spec, SimulatePipeline(spec, true), {weights, activations, workspace});
  ASSERT_EQ(memory.size(), 1u);
  std::vector<std::pair<int64_t, int64_t>> curve;
  for (const MemoryStep& step : memory[0].curve) curve.emplace_back(step.ns, step.bytes);
  EXPECT_EQ(curve, (std::vector<std::pair<int64_t, int64_t>>{
                       {0, 106}, {10, 108}, {30, 109}, {40, 111}, {60, 100}}));
  EXPECT_EQ(memory[0].peak_bytes, 111);
  EXPECT_EQ(memory[0].peak_ns, 40);
  EXPECT_EQ(memory[0].peak_pass, (Pass{PassKind::kBackward, 0, 0, 1}));
  EXPECT_EQ(memory[0].peak_parts, (std::vector<int64_t>{100, 8, 3}));
}

TEST(PipelineMemoryTest, PeakNeedsNoTimes) {
  Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const PipelineShape shape = DrawShape(random, kSchedules[trial % 4]);
    const int64_t units = shape.virtual_stages(), passes = units * shape.micro_batches;
    std::vector<MemoryPart> parts(2);
    for (MemoryPart& part : parts) {
      part.static_bytes = DrawMany(random, shape.stages, 0, 100);
      part.weight_gradient_bytes = DrawMany(random, passes, 0, 20);
      part.kept_bytes = part.weight_gradient_bytes;
      for (int64_t& bytes : part.kept_bytes) bytes += Draw(random, 0, 20);
      part.forward_workspace_bytes = DrawMany(random, units, 0, 30);
      part.backward_workspace_bytes = DrawMany(random, units, 0, 30);
      part.weight_gradient_workspace_bytes = DrawMany(random, units, 0, 30);
    }
    const PipelineSpec spec = DrawPipeline(random, shape);
    const auto memory = MemoryOverTime(spec, SimulatePipeline(spec, true), parts);
    for (int64_t s = 0; s < shape.stages; ++s) {
      const StageMemory& timed = memory[static_cast<size_t>(s)];
      const StageMemory peak = PeakMemory(shape, s, parts);
      ASSERT_EQ(peak.peak_bytes, timed.peak_bytes);
      ASSERT_EQ(peak.peak_pass, timed.peak_pass);
      ASSERT_EQ(peak.peak_parts, timed.peak_parts);
      ASSERT_EQ(peak.peak_parts[0] + peak.peak_parts[1], peak.peak_bytes);
      int64_t before = -1;
      for (const MemoryStep& step : timed.curve) {
        ASSERT_GT(step.ns, before);
        ASSERT_LE(step.bytes, timed.peak_bytes);
        before = step.ns;
      }
      // At the end, only static memory is left.
      int64_t left = 0;
      for (const MemoryPart& part : parts) left += part.static_bytes[static_cast<size_t>(s)];
      ASSERT_EQ(timed.curve.back().bytes, left);
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
