// Checks properties that every pipeline must have, for all schedules and times.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "planner/simulate/pipeline.h"
#include "planner/simulate/pipeline_bound.h"
#include "tests/planner/simulate/pipelines.h"

namespace evenkeel::planner {
namespace {

constexpr int kTrials = 8000;

TEST(PipelinePropertyTest, NothingStartsBeforeItsInputsAndStagesDoOneThingAtATime) {
  Random random(1);
  for (int trial = 0; trial < kTrials; ++trial) {
    const PipelineSpec spec = DrawPipeline(random, DrawShape(random, kSchedules[trial % 4]));
    const PipelineRun run = SimulatePipeline(spec, true);
    std::map<std::tuple<PassKind, int64_t, int32_t>, TimedPass> by_name;
    for (const std::vector<TimedPass>& stage : run.passes) {
      int64_t free = 0;
      for (const TimedPass& timed : stage) {
        ASSERT_GE(timed.start_ns, free);
        ASSERT_GE(timed.end_ns, timed.start_ns);
        free = timed.end_ns;
        const int64_t q = spec.shape.virtual_stage(timed.pass.stage, timed.pass.chunk);
        by_name[{timed.pass.kind, q, timed.pass.micro_batch}] = timed;
      }
    }
    for (const auto& [name, timed] : by_name) {
      const auto [kind, q, k] = name;
      if (kind == PassKind::kForward && q > 0) {
        ASSERT_GE(timed.start_ns,
                  by_name.at({kind, q - 1, k}).end_ns + spec.send_ns[static_cast<size_t>(q - 1)]);
      } else if (kind == PassKind::kBackward && q + 1 < spec.shape.virtual_stages()) {
        ASSERT_GE(timed.start_ns,
                  by_name.at({kind, q + 1, k}).end_ns + spec.send_ns[static_cast<size_t>(q)]);
      }
      if (kind == PassKind::kBackward) {
        ASSERT_GE(timed.start_ns, by_name.at({PassKind::kForward, q, k}).end_ns);
      } else if (kind == PassKind::kWeightGradient) {
        ASSERT_GE(timed.start_ns, by_name.at({PassKind::kBackward, q, k}).end_ns);
      }
    }
  }
}

TEST(PipelinePropertyTest, WorkIsConservedAndEveryNanosecondHasACause) {
  Random random(2);
  for (int trial = 0; trial < kTrials; ++trial) {
    const PipelineSpec spec = DrawPipeline(random, DrawShape(random, kSchedules[trial % 4]));
    const PipelineRun run = SimulatePipeline(spec);
    const PassTable forward(spec.forward_ns, spec.shape), backward(spec.backward_ns, spec.shape);
    for (size_t s = 0; s < run.stages.size(); ++s) {
      int64_t work = 0;
      const size_t chunks = static_cast<size_t>(spec.shape.chunks);
      for (size_t i = s * chunks; i < (s + 1) * chunks; ++i) {
        for (size_t k = 0; k < static_cast<size_t>(spec.shape.micro_batches); ++k) {
          work += forward.at(i, k) + backward.at(i, k);
        }
      }
      const StageRun& stage = run.stages[s];
      ASSERT_EQ(stage.busy_ns(), work);
      ASSERT_EQ(stage.total_ns(), run.step_ns);
      for (const int64_t part :
           {stage.forward_ns, stage.recompute_ns, stage.backward_ns, stage.weight_gradient_ns,
            stage.send_ns, stage.gather_ns, stage.wait_p2p_ns, stage.wait_forward_ns,
            stage.wait_backward_ns, stage.sync_ns, stage.wait_sync_ns, stage.optimizer_ns,
            stage.wait_optimizer_ns}) {
        ASSERT_GE(part, 0);
      }
    }
  }
}

TEST(PipelinePropertyTest, BoundsHold) {
  Random random(3);
  for (int trial = 0; trial < kTrials; ++trial) {
    const PipelineSpec spec = DrawPipeline(random, DrawShape(random, kSchedules[trial % 4]));
    const int64_t end = PipelineEnd(spec);
    ASSERT_GE(end, PipelineLowerBound(spec));
    // It is not slower than one micro-batch after another.
    int64_t one_by_one = 0;
    for (const int64_t time : spec.gather_ns) one_by_one += time;
    const PassTable forward(spec.forward_ns, spec.shape), backward(spec.backward_ns, spec.shape);
    for (size_t i = 0; i < static_cast<size_t>(spec.shape.virtual_stages()); ++i) {
      for (size_t k = 0; k < static_cast<size_t>(spec.shape.micro_batches); ++k) {
        one_by_one += forward.at(i, k) + backward.at(i, k) + 2 * spec.send_ns[i];
      }
    }
    ASSERT_LE(end, one_by_one);
  }
}

TEST(PipelinePropertyTest, SlowerPassesNeverEndSooner) {
  Random random(4);
  for (int trial = 0; trial < kTrials; ++trial) {
    PipelineSpec spec = DrawPipeline(random, DrawShape(random, kSchedules[trial % 4]));
    const PipelineRun before = SimulatePipeline(spec);
    PassValues& times = Draw(random, 0, 1) == 0 ? spec.forward_ns : spec.backward_ns;
    times[random.Below(times.size())] += kDrawnUnit * Draw(random, 0, 20);
    const PipelineRun after = SimulatePipeline(spec);
    ASSERT_GE(after.pipeline_ns, before.pipeline_ns);
    ASSERT_GE(after.step_ns, before.step_ns);
  }
}

// With equal stages and micro-batches, splitting the backward never costs time.
TEST(PipelinePropertyTest, ZeroBubbleIsNotSlowerThanOneFOneBWithEqualStages) {
  Random random(5);
  for (int trial = 0; trial < kTrials; ++trial) {
    const PipelineShape shape = DrawShape(random, Schedule::kOneFOneB, 12, 1, 40);
    const int64_t backward = Draw(random, 0, 60);
    PipelineSpec spec = EqualPipeline(shape, Draw(random, 0, 40), backward, Draw(random, 0, 9),
                                      Draw(random, 0, backward));
    const int64_t whole = PipelineEnd(spec);
    spec.shape.schedule = Schedule::kZeroBubble;
    ASSERT_LE(PipelineEnd(spec), whole)
        << shape.stages << " stages, " << shape.micro_batches << " micro-batches, "
        << spec.forward_ns[0] << " " << backward << " " << spec.weight_gradient_ns[0] << " "
        << spec.send_ns[0];
  }
}

// With unequal stages, it can be slower: stage 1 waits for the second forward while its first
// weight gradient is not done, and has that left at the end. 1F1B: stage 1 runs F0 10-11, B0 11-22,
// F1 22-23, B1 23-34, and stage 0 ends at 36. ZB-H1: F0 10-11, B0 11-12, F1 20-21, B1 21-22, W0
// 22-32, W1 32-42.
TEST(PipelinePropertyTest, ZeroBubbleCanBeSlowerWithUnequalStages) {
  PipelineSpec spec;
  spec.shape = {Schedule::kOneFOneB, 2, 1, 2};
  spec.forward_ns = {10, 1};
  spec.backward_ns = {2, 11};
  spec.weight_gradient_ns = {1, 10};
  spec.send_ns = {0};
  EXPECT_EQ(PipelineEnd(spec), 36);
  spec.shape.schedule = Schedule::kZeroBubble;
  EXPECT_EQ(PipelineEnd(spec), 42);
}

}  // namespace
}  // namespace evenkeel::planner
