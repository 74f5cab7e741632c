#include "planner/explain/ladder.h"

#include <gtest/gtest.h>

#include "planner/make_plan.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

std::vector<LadderRung> LadderOf(const Job& job) {
  const PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  EXPECT_TRUE(result.plan.fits());
  EXPECT_DOUBLE_EQ(result.plan.ladder.back().gpu_days, result.plan.prediction.gpu_days);
  return result.plan.ladder;
}

TEST(LadderTest, OmniBalsCaseGetsBetterRungByRung) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  const std::vector<LadderRung> ladder = LadderOf(job);
  ASSERT_EQ(ladder.size(), 4u);
  EXPECT_EQ(ladder[0].name, "baseline");
  EXPECT_EQ(ladder[3].name, "+ memory balance");
  for (size_t i = 1; i < ladder.size(); ++i) EXPECT_LT(ladder[i].gpu_days, ladder[i - 1].gpu_days);
  EXPECT_GT(ladder[0].pad_ratio, 0);
  EXPECT_EQ(ladder[1].pad_ratio, 0);
  EXPECT_LT(ladder[1].dist_ratio_units, ladder[0].dist_ratio_units);
  EXPECT_TRUE(ladder[3].fits);
}

TEST(LadderTest, EqualTextSamplesGainNothingFromData) {
  const std::vector<LadderRung> ladder = LadderOf(TextJob("llama3-8b", "h100-sxm-80gb", 16));
  EXPECT_EQ(ladder[0].pad_ratio, 0);
  EXPECT_EQ(ladder[0].dist_ratio_tokens, 0);
  EXPECT_NEAR(ladder[1].gpu_days, ladder[0].gpu_days, 1e-6 * ladder[0].gpu_days);
  EXPECT_LE(ladder[3].gpu_days, ladder[2].gpu_days);
}

TEST(LadderTest, OneStageHasNoModelToBalance) {
  Job job = TextJob("qwen2-1.5b", "h100-sxm-80gb", 8);
  FixDegrees(job, 1, 1, 8);
  const std::vector<LadderRung> ladder = LadderOf(job);
  EXPECT_DOUBLE_EQ(ladder[2].gpu_days, ladder[1].gpu_days);
}

TEST(GpuDaysTest, ByHand) {
  Job job = QuickstartJob();
  job.training.epochs = 2;
  Candidate c{.parallelism = {2, 4, 4}, .micro_batches = 8};
  // 6400 micro-batches in steps of 32 are 200 steps of 43.2 s on 32 GPUs, twice.
  EXPECT_DOUBLE_EQ(GpuDays(job, 43'200'000'000, 6400, c), 200 * 43.2 * 32 * 2 / 86400);
}

}  // namespace
}  // namespace evenkeel::planner
