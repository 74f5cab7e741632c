#include "planner/cost/goodput.h"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/base/exponential.h"
#include "planner/base/random.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

TEST(ExponentialTest, AgreesWithTheLibrary) {
  for (const double x : {0.0, 1e-12, 1e-3, 0.05, 0.0625, 0.07, 0.5, 1.0, 3.0, 20.0, 300.0}) {
    EXPECT_NEAR(ExponentialMinusOne(x), std::expm1(x), 2e-13 * std::expm1(x)) << x;
  }
  EXPECT_TRUE(std::isfinite(ExponentialMinusOne(1e9)));
}

// Compares the interval from the formula with all intervals of a grid.
TEST(GoodputTest, IntervalIsTheBest) {
  for (const double write : {1.0, 30.0, 600.0}) {
    for (const double failures : {1800.0, 86400.0, 5e6}) {
      const double interval = BestCheckpointInterval(write, failures);
      const double expected = ExpectedSeconds(1e6, interval, write, 120, failures);
      double least = expected;
      for (double other = write / 10; other < 4 * failures; other *= 1.01)
        least = std::min(least, ExpectedSeconds(1e6, other, write, 120, failures));
      EXPECT_LE(expected, least * 1.002) << write << " " << failures;
    }
  }
}

// Plays training out, with failures drawn one by one.
double Played(Random& random, double work, double interval, double write, double restart,
              double failures) {
  const auto until_failure = [&] {
    const double u = (static_cast<double>(random.Next() >> 11) + 0.5) * 0x1p-53;
    return -failures * std::log(u);
  };
  double now = 0, done = 0, next = until_failure();
  while (done < work) {
    const double segment = std::min(interval, work - done) + write;
    if (next >= segment) {
      now += segment, next -= segment, done += interval;
      continue;
    }
    now += next;
    next = until_failure();
    while (next < restart) now += next, next = until_failure();
    now += restart, next -= restart;
  }
  return now;
}

TEST(GoodputTest, ExpectedTimeIsThatOfManyPlayedOut) {
  Random random(7);
  struct Case {
    double interval, write, restart, failures;
  };
  for (const Case& c : {Case{1000, 50, 300, 20000}, Case{500, 20, 60, 2000}}) {
    double sum = 0;
    const int runs = 2000;
    for (int i = 0; i < runs; ++i)
      sum += Played(random, 50 * c.interval, c.interval, c.write, c.restart, c.failures);
    const double expected =
        ExpectedSeconds(50 * c.interval, c.interval, c.write, c.restart, c.failures);
    EXPECT_NEAR(sum / runs, expected, 0.02 * expected);
  }
}

TEST(GoodputTest, APlanHasTheFiguresOfItsCheckpoints) {
  Job job = QuickstartJob();
  EXPECT_FALSE(MakePlan(job, {}).plan.goodput);
  job.reliability = {.node_mean_time_between_failures_seconds = 30 * 86400.0,
                     .checkpoint_bytes_per_second = 2e9,
                     .restart_seconds = 600};
  job.cluster.price_per_gpu_hour = 2;
  const Plan plan = MakePlan(job, {}).plan;
  ASSERT_TRUE(plan.goodput);
  const Goodput& g = *plan.goodput;
  // 5.9e9 and 19.9e9 parameters of 14 bytes each and a projector, over four nodes of 2 GB/s.
  EXPECT_NEAR(static_cast<double>(g.checkpoint_bytes), 14 * 25.5e9, 14 * 0.5e9);
  EXPECT_NEAR(g.checkpoint_seconds, static_cast<double>(g.checkpoint_bytes) / 8e9, 1e-6);
  EXPECT_DOUBLE_EQ(g.mean_time_between_failures_seconds, 7.5 * 86400);
  EXPECT_GT(g.useful_share, 0.97);
  EXPECT_LT(g.useful_share, 1);
  EXPECT_GT(g.gpu_days, plan.prediction.gpu_days);
  EXPECT_NEAR(g.gpu_days, plan.prediction.gpu_days / g.useful_share, 1e-6 * g.gpu_days);
  EXPECT_NEAR(g.cost, g.gpu_days * 48, 1e-6 * g.cost);
  // A worse interval costs more.
  job.reliability.checkpoint_interval_seconds = 60;
  const Plan often = MakePlan(job, {}).plan;
  EXPECT_LT(often.goodput->interval_steps, g.interval_steps);
  EXPECT_GT(often.goodput->seconds, g.seconds);
}

TEST(GoodputTest, FrozenPartsAreWrittenAsWeightsAlone) {
  Job job = QuickstartJob();
  const int64_t all = CheckpointBytes(job.model, job.training);
  job.model.language_model.train = TrainMode::kFrozen;
  EXPECT_EQ(all - CheckpointBytes(job.model, job.training),
            12 * CountParameters(job.model.language_model));
}

TEST(GoodputTest, AutocastsWeightsAreTheMasterWeights) {
  Job job = QuickstartJob();
  job.training.optimizer = Optimizer::kAdam;
  const int64_t usual = CheckpointBytes(job.model, job.training);
  SetAutocast(&job.training);
  EXPECT_NEAR(static_cast<double>(CheckpointBytes(job.model, job.training)),
              static_cast<double>(usual) * (4 + 8) / (2 + 4 + 8), 100);
}

TEST(GoodputTest, FailuresTooFrequentForAnyProgressStayFinite) {
  Job job = TextJob("qwen2-0.5b", "h100-sxm-80gb", 8);
  job.reliability = {.node_mean_time_between_failures_seconds = 1e-3,
                     .checkpoint_bytes_per_second = 1,
                     .restart_seconds = 1e6};
  const PlanResult result = MakePlan(job, {});
  ASSERT_EQ(result.end, PlanEnd::kComplete);
  EXPECT_TRUE(std::isfinite(result.plan.goodput->seconds));
}

}  // namespace
}  // namespace evenkeel::planner
