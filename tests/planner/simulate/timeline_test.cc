#include "planner/simulate/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/planner/simulate/pipelines.h"

namespace evenkeel::planner {
namespace {

bool IsSend(OperationKind kind) {
  return kind == OperationKind::kSendActivation || kind == OperationKind::kSendGradient;
}

TEST(OperationsTest, ByHand) {
  PipelineSpec spec = EqualPipeline({Schedule::kOneFOneB, 2, 1, 1}, 4, 6, 1);
  spec.recompute_ns = {2, 0};
  spec.sync_ns = {5, 3};
  spec.optimizer_ns = {7, 8};
  const auto stages = Operations(spec, SimulatePipeline(spec, true));
  std::vector<std::tuple<OperationKind, int64_t, int64_t>> first;
  for (const Operation& o : stages[0]) first.emplace_back(o.kind, o.start_ns, o.end_ns);
  EXPECT_EQ(first, (std::vector<std::tuple<OperationKind, int64_t, int64_t>>{
                       {OperationKind::kForward, 0, 4},
                       {OperationKind::kSendActivation, 4, 5},
                       {OperationKind::kRecompute, 16, 18},
                       {OperationKind::kBackward, 18, 22},
                       {OperationKind::kGradientSync, 22, 27},
                       {OperationKind::kOptimizer, 27, 34}}));
  EXPECT_EQ(stages[1].back().end_ns, 35);
  EXPECT_EQ(stages[1].back().micro_batch, -1);
}

// Compute operations never overlap and sum to the run's figures, and every micro-batch has its own.
TEST(OperationsTest, AddUpToTheRun) {
  Random random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    PipelineSpec spec = DrawPipeline(random, DrawShape(random, kSchedules[trial % 4]));
    spec.gather_overlaps = false;
    const PipelineRun run = SimulatePipeline(spec, true);
    const auto stages = Operations(spec, run);
    for (size_t s = 0; s < stages.size(); ++s) {
      std::map<OperationKind, int64_t> sums;
      int64_t free = 0, before = 0;
      for (const Operation& o : stages[s]) {
        ASSERT_GE(o.start_ns, before);
        before = o.start_ns;
        sums[o.kind] += o.end_ns - o.start_ns;
        ASSERT_LE(o.end_ns, run.step_ns);
        if (IsSend(o.kind) || o.kind == OperationKind::kGradientSync) continue;
        ASSERT_GE(o.start_ns, free);
        free = o.end_ns;
      }
      const StageRun& stage = run.stages[s];
      ASSERT_EQ(sums[OperationKind::kForward], stage.forward_ns);
      ASSERT_EQ(sums[OperationKind::kRecompute], stage.recompute_ns);
      ASSERT_EQ(sums[OperationKind::kBackward], stage.backward_ns);
      ASSERT_EQ(sums[OperationKind::kWeightGradient], stage.weight_gradient_ns);
      ASSERT_EQ(sums[OperationKind::kParameterGather], stage.gather_ns);
      ASSERT_EQ(sums[OperationKind::kOptimizer], stage.optimizer_ns);
    }
  }
}

TEST(MakeTimelineTest, ShowsTheSlowestRank) {
  PipelineSpec fast = EqualPipeline({Schedule::kOneFOneB, 2, 1, 3}, 4, 6, 1);
  fast.sync_ns = {5, 3};
  PipelineSpec slow = fast;
  slow.forward_ns = {8, 4};
  const MemoryPart part = {.name = "activations", .kept_bytes = {7, 9}};
  const Timeline timeline = MakeTimeline({fast, slow, fast, slow}, {part});
  EXPECT_EQ(timeline.shown_rank, 1u);
  EXPECT_EQ(timeline.run.ranks.size(), 4u);
  EXPECT_EQ(timeline.operations[0].front().end_ns, 8);
  EXPECT_EQ(timeline.memory[0].peak_bytes, 2 * 7);
  EXPECT_EQ(timeline.part_names, std::vector<std::string>{"activations"});
  EXPECT_TRUE(MakeTimeline({fast}, {}).memory.empty());
}

}  // namespace
}  // namespace evenkeel::planner
