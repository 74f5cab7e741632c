#include "planner/simulate/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/simulate/pipeline_bound.h"
#include "tests/planner/simulate/pipelines.h"

namespace evenkeel::planner {
namespace {

PipelineShape OneFOneB(int64_t stages, int64_t micro_batches) {
  return {Schedule::kOneFOneB, stages, 1, micro_batches};
}

TEST(PipelineTest, EqualStagesTakeMicroBatchesPlusStagesLessOne) {
  for (int64_t stages = 1; stages <= 6; ++stages) {
    for (int64_t m = 1; m <= 12; ++m) {
      EXPECT_EQ(PipelineEnd(EqualPipeline(OneFOneB(stages, m), 3, 5, 0)), (m + stages - 1) * 8);
      EXPECT_EQ(PipelineEnd(EqualPipeline({Schedule::kGPipe, stages, 1, m}, 3, 5, 0)),
                (m + stages - 1) * 8);
    }
  }
}

// The bubble is (P - 1) (f + b) / v for micro-batches in whole groups (Narayanan 2021, 2.2).
TEST(PipelineTest, InterleavingDividesTheBubble) {
  for (int64_t stages = 2; stages <= 8; ++stages) {
    for (int64_t chunks = 1; chunks <= 4; ++chunks) {
      for (int64_t rounds = 1; rounds <= 3; ++rounds) {
        const int64_t m = stages * rounds;
        const PipelineSpec spec =
            EqualPipeline({Schedule::kInterleaved, stages, chunks, m}, 3, 5, 0);
        EXPECT_EQ(PipelineEnd(spec), (m * chunks + stages - 1) * 8)
            << stages << " stages, " << chunks << " chunks, " << m << " micro-batches";
      }
    }
  }
}

// The bubble is (P - 1) (f + b - 2 w), where b is the whole backward and w its deferred part. It is
// the paper's (P - 1) (T_F + T_B - T_W), table 2. For T_F = T_B = T_W it is a third of 1F1B's.
TEST(PipelineTest, ZeroBubbleLeavesAThird) {
  for (int64_t stages = 2; stages <= 8; ++stages) {
    for (int64_t m = 2 * stages; m <= 3 * stages; ++m) {
      const PipelineSpec spec = EqualPipeline({Schedule::kZeroBubble, stages, 1, m}, 10, 20, 0, 10);
      EXPECT_EQ(PipelineEnd(spec), m * 30 + (stages - 1) * 10) << stages << " " << m;
    }
  }
}

TEST(PipelineTest, OneMicroBatchPassesThroughAndBack) {
  PipelineSpec spec;
  spec.shape = OneFOneB(3, 1);
  spec.forward_ns = {1, 10, 100};
  spec.backward_ns = {2, 20, 200};
  spec.send_ns = {7, 9};
  EXPECT_EQ(PipelineEnd(spec), 333 + 2 * (7 + 9));
}

TEST(PipelineTest, TwoStagesByHand) {
  // Stage 0: F0 0-2, F1 2-4; stage 1: F0 3-5, B0 5-8, F1 8-10, B1 10-13; back on stage 0: B0 9-12,
  // B1 14-17.
  const PipelineSpec spec = EqualPipeline(OneFOneB(2, 2), 2, 3, 1);
  EXPECT_EQ(PipelineEnd(spec), 17);
  const PipelineRun run = SimulatePipeline(spec, true);
  EXPECT_EQ(run.pipeline_ns, 17);
  EXPECT_EQ(run.step_ns, 17);
  ASSERT_EQ(run.passes[1].size(), 4u);
  EXPECT_EQ(run.passes[1][3].start_ns, 10);
  const StageRun &first = run.stages[0], &second = run.stages[1];
  EXPECT_EQ(first.forward_ns, 4);
  EXPECT_EQ(first.backward_ns, 6);
  // B0 is computed until 8 and on the wire until 9; B1 until 13 and 14.
  EXPECT_EQ(first.wait_backward_ns, 4 + 1);
  EXPECT_EQ(first.wait_p2p_ns, 1 + 1);
  EXPECT_EQ(second.wait_forward_ns, 2);
  EXPECT_EQ(second.wait_p2p_ns, 1);
  EXPECT_EQ(second.wait_sync_ns, 4);  // from 13 until 17
}

TEST(PipelineTest, BlockingSendsHoldTheSender) {
  PipelineSpec spec = EqualPipeline(OneFOneB(2, 2), 2, 3, 1);
  spec.send_blocks = true;
  // Stage 0: F0 0-2, sends until 3, F1 3-5, sends until 6. Stage 1: F0 3-5, B0 5-8, sends until 9,
  // F1 9-11, B1 11-14, sends until 15. Stage 0: B0 9-12, B1 15-18.
  const PipelineRun run = SimulatePipeline(spec);
  EXPECT_EQ(run.pipeline_ns, 18);
  EXPECT_EQ(PipelineEnd(spec), 18);
  EXPECT_EQ(run.stages[0].send_ns, 2);
  EXPECT_EQ(run.stages[1].send_ns, 2);
}

TEST(PipelineTest, SyncBehindTheLastPass) {
  PipelineSpec spec = EqualPipeline(OneFOneB(2, 2), 2, 3, 1);
  spec.sync_ns = {10, 30};
  spec.optimizer_ns = {4, 6};
  const PipelineRun run = SimulatePipeline(spec);
  EXPECT_EQ(run.stages[0].sync_end_ns, 17 + 10);
  EXPECT_EQ(run.stages[1].sync_end_ns, 13 + 30);
  EXPECT_EQ(run.synced_ns, 43);
  EXPECT_EQ(run.step_ns, 43 + 6);
  EXPECT_EQ(run.stages[0].wait_sync_ns, 16);
  EXPECT_EQ(run.stages[0].wait_optimizer_ns, 2);
}

TEST(PipelineTest, SyncOverlapsTheLastBackward) {
  PipelineSpec spec = EqualPipeline(OneFOneB(1, 3), 10, 40, 0);
  spec.sync_overlaps = true;
  spec.buckets = {4};
  // The last backward runs from 110 to 150, so its buckets are ready at 120, 130, 140 and 150.
  spec.sync_ns = {20};  // 5 a bucket: only the last bucket is late
  EXPECT_EQ(SimulatePipeline(spec).step_ns, 155);
  spec.sync_ns = {80};  // 20 per bucket, so the stream never waits
  EXPECT_EQ(SimulatePipeline(spec).step_ns, 200);
  spec.buckets = {1};
  EXPECT_EQ(SimulatePipeline(spec).step_ns, 230);
}

TEST(PipelineTest, GatherOverlapsTheFirstForward) {
  PipelineSpec spec = EqualPipeline(OneFOneB(1, 1), 40, 0, 0);
  spec.gather_ns = {20};
  EXPECT_EQ(SimulatePipeline(spec).step_ns, 60);
  spec.gather_overlaps = true;
  spec.buckets = {4};
  EXPECT_EQ(SimulatePipeline(spec).step_ns, 45);  // after the first bucket
  spec.gather_ns = {80};
  const PipelineRun run = SimulatePipeline(spec);
  EXPECT_EQ(run.step_ns, 90);  // the last bucket's layers, after the last bucket
  EXPECT_EQ(run.stages[0].gather_ns, 50);
  EXPECT_EQ(run.stages[0].forward_ns, 40);
}

TEST(SimulateRanksTest, AStageSyncsWhenEveryRankHasItsGradients) {
  PipelineSpec fast = EqualPipeline(OneFOneB(2, 2), 2, 3, 1);
  fast.sync_ns = {10, 10};
  PipelineSpec slow = fast;
  for (int64_t& time : slow.forward_ns) time *= 2;
  const RanksRun run = SimulateRanks({fast, slow, fast});
  const PipelineRun alone = SimulatePipeline(slow);
  EXPECT_EQ(run.step_ns, alone.step_ns);
  EXPECT_EQ(run.pipeline_ns, alone.pipeline_ns);
  EXPECT_EQ(run.ranks[1].idle_ns, 0);
  EXPECT_EQ(run.ranks[0].pipeline.pipeline_ns, 17);
  EXPECT_EQ(run.ranks[0].idle_ns, (alone.stages[0].end_ns - 17 + alone.stages[1].end_ns - 13) / 2);
  EXPECT_EQ(run.ranks[2].idle_ns, run.ranks[0].idle_ns);
}

TEST(PipelineBoundTest, IsReachedByEqualStages) {
  const PipelineSpec spec = EqualPipeline(OneFOneB(2, 7), 3, 5, 0);
  EXPECT_EQ(PipelineLowerBound(spec), PipelineEnd(spec));
}

TEST(PipelineBoundTest, ByHand) {
  PipelineSpec spec;
  spec.shape = OneFOneB(3, 4);
  spec.forward_ns = {1, 10, 2};
  spec.backward_ns = {2, 20, 3};
  spec.send_ns = {7, 9};
  EXPECT_EQ(PipelineLowerBound(spec), 1 + 7 + 4 * 30 + 7 + 2);
}

}  // namespace
}  // namespace evenkeel::planner
