// Compares the simulator of pipelines with its slow twin.
#include <gtest/gtest.h>

#include <vector>

#include "planner/simulate/pipeline.h"
#include "tests/planner/simulate/pipelines.h"
#include "tests/reference/naive_one_f_one_b.h"
#include "tests/reference/naive_pipeline.h"

namespace evenkeel::planner::reference {
namespace {

void ExpectTheSame(const PipelineSpec& spec) {
  const NaiveRun naive = LongestPaths(spec);
  const PipelineRun run = SimulatePipeline(spec, true);
  ASSERT_EQ(run.pipeline_ns, naive.pipeline_ns);
  ASSERT_EQ(PipelineEnd(spec), naive.pipeline_ns);
  ASSERT_EQ(run.step_ns, naive.step_ns);
  for (size_t s = 0; s < run.stages.size(); ++s) {
    ASSERT_EQ(run.stages[s].sync_end_ns, naive.sync_end_ns[s]);
    for (const TimedPass& timed : run.passes[s]) {
      const Pass& pass = timed.pass;
      const char kind = "FBW"[static_cast<size_t>(pass.kind)];
      const auto [start, end] = naive.passes.at({kind, pass.stage, pass.chunk, pass.micro_batch});
      // A first forward that overlaps the gathering counts as started while it waits for a bucket.
      if (!spec.gather_overlaps || pass.micro_batch > 0) {
        ASSERT_EQ(timed.start_ns, start);
      }
      ASSERT_EQ(timed.end_ns, end);
    }
  }
}

TEST(PipelineReferenceTest, RandomPipelinesOfEverySchedule) {
  Random random(41);
  for (int trial = 0; trial < 6000; ++trial) {
    const PipelineSpec spec = DrawPipeline(random, DrawShape(random, kSchedules[trial % 4]));
    ExpectTheSame(spec);
    if (HasFatalFailure()) FAIL() << "trial " << trial;
  }
}

TEST(PipelineReferenceTest, LargePipelines) {
  Random random(42);
  for (int trial = 0; trial < 40; ++trial) {
    ExpectTheSame(DrawPipeline(random, DrawShape(random, kSchedules[trial % 4], 16, 6, 70)));
    if (HasFatalFailure()) FAIL() << "trial " << trial;
  }
}

TEST(OneFOneBReferenceTest, EverySmallPipeline) {
  // Takes stage times from {1, 2, 5} by the digits of a counter.
  constexpr int64_t kTimes[] = {1, 2, 5};
  for (size_t stages = 1; stages <= 3; ++stages) {
    for (size_t packs = 1; packs <= 5; ++packs) {
      for (int code = 0; code < 729; ++code) {
        PipelineSpec spec;
        spec.shape.stages = static_cast<int64_t>(stages);
        spec.shape.micro_batches = static_cast<int64_t>(packs);
        std::vector<std::vector<int64_t>> forward, backward;
        int digits = code;
        for (size_t s = 0; s < stages; ++s) {
          spec.forward_ns.push_back(kTimes[digits % 3]);
          spec.backward_ns.push_back(kTimes[digits / 3 % 3]);
          forward.emplace_back(packs, spec.forward_ns.back());
          backward.emplace_back(packs, spec.backward_ns.back());
          spec.send_ns.push_back(code % 4);
          digits /= 9;
        }
        ASSERT_EQ(PipelineEnd(spec), LongestPathOneFOneB(forward, backward, spec.send_ns));
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner::reference
