#include "server/convert/profile/step_drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/profile.pb.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

constexpr int64_t kGibibyte = int64_t{1} << 30;

// Two stages of 1 s and 2 s forward over 4 micro-batches; steps of 20 s, 0.9 to 1.1 of it.
v1::Plan TwoStages() {
  v1::Plan plan;
  for (int s = 0; s < 2; ++s) {
    v1::Stage* stage = plan.add_stages();
    stage->set_index(s);
    stage->set_forward_seconds(s + 1);
    stage->mutable_memory()->set_allocated_bytes(10 * kGibibyte);
    stage->set_free_bytes(5 * kGibibyte);
  }
  v1::Predictions* predicted = plan.mutable_predictions();
  predicted->set_micro_batches(4);
  predicted->mutable_step()->set_total_seconds(20);
  for (v1::Interval* interval :
       {predicted->mutable_step_interval(), predicted->mutable_memory_interval()}) {
    interval->set_low_ratio(0.9);
    interval->set_high_ratio(1.1);
  }
  return plan;
}

// Four ranks, two on each stage; `ratios` are their measured over their planned forward times.
v1::StepOutcome Outcome(double step_seconds, const std::vector<double>& ratios) {
  v1::StepOutcome outcome;
  outcome.set_plan_id("plan-1");
  outcome.set_step_seconds(step_seconds);
  for (size_t r = 0; r < ratios.size(); ++r) {
    v1::RankSteps* rank = outcome.add_ranks();
    rank->set_rank(static_cast<int32_t>(r));
    rank->set_stage_index(static_cast<int32_t>(r / 2));
    rank->set_forward_seconds(ratios[r] * 4 * static_cast<double>(r / 2 + 1));
  }
  return outcome;
}

v1::StepDrift DriftIn(const v1::StepOutcome& outcome, const v1::Plan& plan = TwoStages()) {
  v1::StepDrift drift;
  FillDrift(plan, outcome, &drift);
  return drift;
}

TEST(StepDriftTest, AsPlannedSaysNothing) {
  const v1::StepDrift drift = DriftIn(Outcome(20.5, {1, 1, 1, 1}));
  EXPECT_EQ(drift.step(), v1::DRIFT_VERDICT_WITHIN);
  EXPECT_EQ(drift.part(), v1::DRIFT_PART_UNSPECIFIED);
  EXPECT_EQ(drift.memory(), v1::DRIFT_VERDICT_UNSPECIFIED);
  EXPECT_EQ(drift.advice(), "");
  EXPECT_DOUBLE_EQ(drift.step_ratio(), 1.025);
  EXPECT_DOUBLE_EQ(drift.stages(1).forward_ratio(), 1);
}

TEST(StepDriftTest, AllStagesSlowerIsTheDevice) {
  const v1::StepDrift drift = DriftIn(Outcome(22.4, {1.12, 1.13, 1.12, 1.14}));
  EXPECT_EQ(drift.step(), v1::DRIFT_VERDICT_ABOVE);
  EXPECT_EQ(drift.part(), v1::DRIFT_PART_ALL_STAGES);
  EXPECT_THAT(drift.advice(), HasSubstr("All stages are 12.0% slower than planned"));
  const v1::StepDrift faster = DriftIn(Outcome(16, {.8, .8, .8, .8}));
  EXPECT_EQ(faster.step(), v1::DRIFT_VERDICT_BELOW);
  EXPECT_THAT(faster.advice(), HasSubstr("All stages are 20.0% faster than planned"));
}

TEST(StepDriftTest, OneStageSlowerIsNamed) {
  const v1::StepDrift drift = DriftIn(Outcome(23, {1, 1, 1.3, 1.3}));
  EXPECT_EQ(drift.part(), v1::DRIFT_PART_SOME_STAGES);
  EXPECT_THAT(drift.advice(), HasSubstr("stage 1 30.0% slower; stage 0 as planned"));
}

TEST(StepDriftTest, ASlowRankIsNamedEvenIfTheStepIsAsPlanned) {
  const v1::StepDrift drift = DriftIn(Outcome(20, {1, 1.31, 1, 1.2}));
  EXPECT_EQ(drift.part(), v1::DRIFT_PART_RANKS);
  ASSERT_EQ(drift.slow_ranks_size(), 2);
  EXPECT_EQ(drift.slow_ranks(0).rank(), 1);
  EXPECT_EQ(drift.slow_ranks(1).rank(), 3);
  EXPECT_EQ(drift.slow_ranks(1).stage_index(), 1);
  EXPECT_NEAR(drift.slow_ranks(0).slower_ratio(), 1.31, 1e-9);
  EXPECT_THAT(drift.advice(), HasSubstr("rank 1 (stage 0) by 31.0%, rank 3 (stage 1) by 20.0%"));
  EXPECT_THAT(drift.advice(), HasSubstr("The step is as planned."));
  EXPECT_TRUE(DriftOf(drift).slow_ranks);
}

TEST(StepDriftTest, StagesAsPlannedLeaveTheRest) {
  const v1::StepDrift drift = DriftIn(Outcome(24, {1.01, 1, 1, 1}));
  EXPECT_EQ(drift.part(), v1::DRIFT_PART_OUTSIDE_STAGES);
  EXPECT_THAT(drift.advice(), HasSubstr("communication, the optimizer, or waiting for data"));
  EXPECT_EQ(DriftIn(Outcome(24, {})).part(), v1::DRIFT_PART_NOT_KNOWN);
}

TEST(StepDriftTest, MemoryIsComparedByStage) {
  v1::StepOutcome outcome = Outcome(20, {1, 1, 1, 1});
  outcome.mutable_ranks(2)->set_peak_allocated_bytes(12 * kGibibyte);
  outcome.mutable_ranks(3)->set_peak_allocated_bytes(13 * kGibibyte);
  outcome.mutable_ranks(0)->set_peak_allocated_bytes(10 * kGibibyte);
  const v1::StepDrift drift = DriftIn(outcome);
  EXPECT_EQ(drift.memory(), v1::DRIFT_VERDICT_ABOVE);
  EXPECT_EQ(drift.stages(0).memory(), v1::DRIFT_VERDICT_WITHIN);
  EXPECT_EQ(drift.stages(1).allocated_bytes(), 13 * kGibibyte);
  EXPECT_EQ(drift.advice(),
            "Stage 1 allocates 3072.0 MiB more than the planned 10240.0 MiB, of 5120.0 MiB that "
            "the plan leaves free.");
  v1::StepOutcome whole = Outcome(20, {});
  whole.add_stage_allocated_bytes(8 * kGibibyte);
  whole.add_stage_allocated_bytes(10 * kGibibyte);
  EXPECT_EQ(DriftIn(whole).memory(), v1::DRIFT_VERDICT_BELOW);
}

TEST(StepDriftTest, AnOldPlanHasNoInterval) {
  v1::Plan plan = TwoStages();
  plan.mutable_predictions()->clear_step_interval();
  const v1::StepDrift drift = DriftIn(Outcome(30, {}), plan);
  EXPECT_EQ(drift.step(), v1::DRIFT_VERDICT_UNSPECIFIED);
  EXPECT_EQ(DriftOf(drift).step, DriftSide::kUnknown);
}

}  // namespace
}  // namespace evenkeel::server
