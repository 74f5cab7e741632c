#include "planner/cost/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/cost/memory.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Regime RegimeOf(const std::string& model, const Parallelism& p, double tokens,
                const StepTime& step = {.total_ns = 1000}) {
  return RegimeOf(TextJob(model, "a100-sxm-80gb", 64), p, tokens, step);
}

TEST(IntervalTest, Regimes) {
  const Parallelism alone{.tensor = 1, .pipeline = 1, .data = 64};
  EXPECT_EQ(RegimeOf("llama3.2-3b", alone, 512), Regime::kHost);
  EXPECT_EQ(RegimeOf("llama3.2-3b", alone, 65536), Regime::kDevice);
  EXPECT_EQ(RegimeOf("llama3-70b", alone, 4096), Regime::kDevice);
  EXPECT_EQ(RegimeOf("llama3-70b", {.tensor = 64, .pipeline = 1, .data = 1}, 4096), Regime::kHost);
  EXPECT_EQ(RegimeOf("llama3-70b", alone, 4096,
                     {.tensor_communication_ns = 200, .data_sync_ns = 200, .total_ns = 1000}),
            Regime::kNetwork);
  EXPECT_EQ(RegimeOf("mixtral-8x7b", alone, 512), Regime::kExperts);
}

TEST(IntervalTest, WidensWithDistanceFromWhatWasMeasured) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  const Interval own = StepIntervalOf(job, Regime::kDevice);
  EXPECT_EQ(own.evidence, Evidence::kSameTrainer);
  EXPECT_LT(own.low, 1);
  EXPECT_GT(own.high, 1);
  EXPECT_GT(own.runs, 100);
  job.training.trainer = &GenericTrainer();
  const Interval other = StepIntervalOf(job, Regime::kDevice);
  EXPECT_EQ(other.evidence, Evidence::kOtherTrainer);
  EXPECT_GT(other.high - other.low, own.high - own.low);
  Job far = TextJob("llama3-8b", "l40s-48gb", 8);
  const Interval assumed = StepIntervalOf(far, Regime::kDevice);
  EXPECT_EQ(assumed.evidence, Evidence::kAssumed);
  EXPECT_NEAR(assumed.high - 1, 1.5 * (own.high - 1), 1e-12);
  // Measured steps of the job itself count most.
  job.calibration.step = {.value = 1.2, .count = 9, .spread = 0.02};
  const Interval measured = StepIntervalOf(job, Regime::kDevice);
  EXPECT_EQ(measured.evidence, Evidence::kSameJob);
  EXPECT_EQ(measured.runs, 9);
  EXPECT_LT(measured.high - measured.low, own.high - own.low);
}

TEST(IntervalTest, CoverageScalesBothEnds) {
  const Interval eighty{.low = 0.9, .high = 1.2};
  EXPECT_EQ(AtCoverage(eighty, 0.8).high, 1.2);
  EXPECT_NEAR(AtCoverage(eighty, 0.5).high, 1.1052, 1e-12);
  EXPECT_NEAR(AtCoverage(eighty, 0.99).low, 1 - 0.2010, 1e-12);
  double high = 1;
  for (double coverage = 0.5; coverage <= 0.99; coverage += 0.01) {
    EXPECT_GT(AtCoverage(eighty, coverage).high, high);
    high = AtCoverage(eighty, coverage).high;
  }
}

TEST(IntervalTest, FitHasThreeValues) {
  const Interval interval{.low = 0.9, .high = 1.2};
  EXPECT_EQ(FitOf(100, 120, interval), MemoryFit::kFits);
  EXPECT_EQ(FitOf(101, 120, interval), MemoryFit::kWithinMargin);
  EXPECT_EQ(FitOf(133, 120, interval), MemoryFit::kWithinMargin);
  EXPECT_EQ(FitOf(134, 120, interval), MemoryFit::kDoesNotFit);
}

TEST(IntervalTest, APlanCanLeaveRoomForTheUpperEnd) {
  Job job = TextJob("llama3-70b", "h100-sxm-80gb", 32);
  const Plan tight = MakePlan(job, {}).plan;
  ASSERT_TRUE(tight.fits());
  double step = static_cast<double>(tight.prediction.step.total_ns);
  for (const double confidence : {0.5, 0.8, 0.99}) {
    job.constraints.memory_confidence = confidence;
    const PlanResult made = MakePlan(job, {});
    const Plan& plan = made.plan;
    EXPECT_EQ(made.end, PlanEnd::kComplete);
    ASSERT_TRUE(plan.fits());
    const double high = AtCoverage(MemoryIntervalOf(job), confidence).high;
    for (const StagePlan& stage : plan.stages) {
      EXPECT_LE(static_cast<double>(stage.memory.total()) * high,
                static_cast<double>(CapacityBytes(job.cluster)));
      EXPECT_EQ(stage.capacity_bytes, CapacityBytes(job));
    }
    if (confidence >= 0.8) {
      EXPECT_EQ(plan.memory_fit, MemoryFit::kFits);
    }
    // A margin costs time and never saves it.
    EXPECT_GE(static_cast<double>(plan.prediction.step.total_ns), step * 0.999);
    step = static_cast<double>(plan.prediction.step.total_ns);
  }
}

// A plan that lacks a little memory is distinguished from one that lacks a lot.
TEST(IntervalTest, AnEvaluatedPlanSaysHowSurelyItFits) {
  Job job = TextJob("llama3-70b", "h100-sxm-80gb", 32);
  const Plan plan = MakePlan(job, {}).plan;
  const PlanSpec spec = SpecOf(plan);
  int64_t used = 0;
  for (const StagePlan& stage : plan.stages) used = std::max(used, stage.memory.total());
  const int64_t capacity = CapacityBytes(job.cluster);
  const auto fit_with = [&](double room) {
    job.cluster.reserved_bytes = capacity - static_cast<int64_t>(static_cast<double>(used) * room);
    return EvaluatePlan(job, spec).plan.memory_fit;
  };
  EXPECT_EQ(fit_with(1.08), MemoryFit::kFits);
  EXPECT_EQ(fit_with(1.01), MemoryFit::kWithinMargin);
  EXPECT_EQ(fit_with(0.99), MemoryFit::kWithinMargin);
  EXPECT_EQ(fit_with(0.95), MemoryFit::kDoesNotFit);
}

}  // namespace
}  // namespace evenkeel::planner
