#include "planner/plan_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// Returns a spec of 45 encoder and 48 language layers on 32 GPUs. With two virtual stages, each has
// a part of every stage's chunks.
PlanSpec Spec(Schedule schedule, int64_t tensor, int64_t pipeline, int64_t virtual_stages = 1) {
  PlanSpec spec;
  spec.parallelism = {.tensor = tensor,
                      .pipeline = pipeline,
                      .data = 32 / tensor / pipeline,
                      .virtual_stages = virtual_stages};
  spec.schedule = schedule;
  const int64_t chunks = pipeline * virtual_stages;
  int64_t encoder = 45, language = 48, left = 93;
  for (int64_t i = 0; i < chunks; ++i) {
    ChunkSpec chunk;
    int64_t own = left / (chunks - i);
    left -= own;
    const int64_t first = std::min(own, encoder), second = own - first;
    encoder -= first, language -= second;
    if (first > 0) {
      chunk.layers.push_back({.kind = LayerKind::kEncoder, .count = first});
      chunk.layers.back().recomputed = {{.parts = kWholeLayer, .count = i == 1 ? 2 : 0}};
    }
    if (second > 0) chunk.layers.push_back({.kind = LayerKind::kDense, .count = second});
    spec.chunks.push_back(std::move(chunk));
  }
  return spec;
}

Evaluation Evaluated(const Job& job, const PlanSpec& spec) {
  Evaluation evaluation = EvaluatePlan(job, spec);
  EXPECT_TRUE(evaluation.faults.empty()) << evaluation.faults.front().field;
  return evaluation;
}

const PlanSpec kSpecs[] = {Spec(Schedule::kOneFOneB, 2, 4), Spec(Schedule::kInterleaved, 2, 4, 2),
                           Spec(Schedule::kGPipe, 4, 4), Spec(Schedule::kZeroBubble, 4, 2),
                           Spec(Schedule::kOneFOneB, 8, 1)};

TEST(PlanTimelineTest, MemoryPeaksAsThePlanSays) {
  const Job job = QuickstartJob();
  for (const PlanSpec& spec : kSpecs) {
    const Evaluation evaluation = Evaluated(job, spec);
    const Timeline timeline = TimelineOf(job, evaluation);
    ASSERT_EQ(timeline.memory.size(), evaluation.plan.stages.size());
    for (size_t s = 0; s < timeline.memory.size(); ++s) {
      EXPECT_EQ(timeline.memory[s].peak_bytes, evaluation.plan.stages[s].memory.total())
          << "schedule " << static_cast<int>(spec.schedule) << ", stage " << s;
    }
  }
}

TEST(PlanTimelineTest, EveryRankHasItsOwnPacks) {
  const Job job = QuickstartJob();
  for (const PlanSpec& spec : kSpecs) {
    const Evaluation evaluation = Evaluated(job, spec);
    const Timeline timeline = TimelineOf(job, evaluation);
    ASSERT_EQ(static_cast<int64_t>(timeline.run.ranks.size()), spec.parallelism.data);
    // The first step is an ordinary step: near the mean of all steps.
    const StepTime& step = evaluation.plan.prediction.step;
    const double ratio =
        static_cast<double>(timeline.run.step_ns) / static_cast<double>(step.total_ns);
    EXPECT_GT(ratio, 0.9);
    EXPECT_LT(ratio, 1.1);
    for (const StageRun& stage : timeline.run.ranks[timeline.shown_rank].pipeline.stages)
      EXPECT_EQ(stage.total_ns(), timeline.run.step_ns);
  }
}

TEST(PlanTimelineTest, MeanPacksTakeTheTimeOfThePrediction) {
  Job job = QuickstartJob();
  job.cluster.gpu_count = 8;
  PlanSpec spec = Spec(Schedule::kOneFOneB, 2, 4);
  spec.parallelism.data = 1;
  const Evaluation evaluation = Evaluated(job, spec);
  const Timeline timeline = TimelineOf(job, evaluation);
  ASSERT_EQ(timeline.run.ranks.size(), 1u);
  const SimulatedStep& step = evaluation.candidate.step;
  EXPECT_EQ(timeline.run.pipeline_ns, step.pipeline_ns);
  EXPECT_EQ(timeline.run.step_ns, step.pipeline_ns + step.data_sync_ns + step.optimizer_ns);
}

// The simulation covers ranks x cells, and 4 x 8000 x 4 forwards are more than kEventsAtMost / 4.
TEST(PlanTimelineTest, TooManyPacksAreMeanPacks) {
  Job job = QuickstartJob();
  PlanSpec spec = Spec(Schedule::kOneFOneB, 2, 4);
  spec.micro_batches = kEventsAtMost / 16 + 1;
  const Evaluation evaluation = Evaluated(job, spec);
  EXPECT_EQ(TimelineCells(evaluation.plan), 4 * spec.micro_batches);
  EXPECT_EQ(TimelineOf(job, evaluation).run.ranks.size(), 1u);
}

}  // namespace
}  // namespace evenkeel::planner
