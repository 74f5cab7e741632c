#include "planner/offers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/explain/changed_job.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Job OnGpu(const char* gpu, int64_t gpus, double price) {
  Job job = TextJob("llama3-8b", gpu, gpus);
  job.cluster.price_per_gpu_hour = price;
  return job;
}

Offers Compare(std::vector<Job> jobs, ObjectiveKind kind, double deadline = 0) {
  for (Job& job : jobs) job.objective = {kind, deadline};
  Offers offers = CompareOffers(jobs, {});
  EXPECT_EQ(offers.end, PlanEnd::kComplete);
  return offers;
}

// Returns the job on other numbers of its GPUs, like the server's jobs for free counts.
std::vector<Job> OnCounts(const Job& job, const std::vector<int64_t>& gpu_counts) {
  std::vector<Job> jobs(gpu_counts.size(), job);
  for (size_t i = 0; i < jobs.size(); ++i) jobs[i].cluster = Resized(job.cluster, gpu_counts[i]);
  return jobs;
}

TEST(OffersTest, BestFirstByEachObjective) {
  const std::vector<Job> jobs = {OnGpu("a100-sxm-80gb", 16, 0.5), OnGpu("h100-sxm-80gb", 32, 4),
                                 OnGpu("h100-sxm-80gb", 8, 0)};
  const auto first = [&](ObjectiveKind kind) { return Compare(jobs, kind).offers.front().job; };
  EXPECT_EQ(first(ObjectiveKind::kStepTime), 1u);
  EXPECT_EQ(first(ObjectiveKind::kGpuDays), 2u);
  EXPECT_EQ(first(ObjectiveKind::kFewestGpus), 2u);
  EXPECT_EQ(first(ObjectiveKind::kCost), 0u);
  // The price of the third is unknown.
  EXPECT_EQ(Compare(jobs, ObjectiveKind::kCost).offers.back().job, 2u);
  for (const Offer& offer : Compare(jobs, ObjectiveKind::kStepTime).offers) {
    const Plan alone = MakePlan(jobs[offer.job], {}).plan;
    EXPECT_EQ(alone.prediction.step.total_ns, offer.plan->prediction.step.total_ns);
    EXPECT_TRUE(offer.meets_deadline);
  }
}

TEST(OffersTest, WhatDoesNotFitComesLastAndSaysWhy) {
  const std::vector<Job> jobs = {TextJob("llama3-70b", "a100-sxm-80gb", 8),
                                 TextJob("llama3-70b", "a100-sxm-80gb", 64)};
  const Offers offers = Compare(jobs, ObjectiveKind::kGpuDays);
  EXPECT_EQ(offers.offers[0].job, 1u);
  EXPECT_FALSE(offers.offers[1].fits());
  EXPECT_GT(offers.offers[1].plan.value().misfit.value().short_bytes, 0);
  EXPECT_FALSE(offers.offers[1].meets_deadline);
}

TEST(OffersTest, CountsThatNoDegreesMultiplyToHaveNoPlan) {
  Job job = OnGpu("h100-sxm-80gb", 8, 0);
  job.constraints.tensor_parallel = {8, 8};
  const Offers offers = Compare(OnCounts(job, {4, 8}), ObjectiveKind::kStepTime);
  EXPECT_EQ(offers.offers[0].job, 1u);
  EXPECT_FALSE(offers.offers[1].possible);
  EXPECT_FALSE(offers.offers[1].plan.has_value());
  EXPECT_FALSE(offers.offers[1].fits());
}

TEST(OffersTest, FewestGpusThatMeetADeadline) {
  const Job job = OnGpu("h100-sxm-80gb", 64, 0);
  const std::vector<int64_t> counts = {1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64};
  const std::vector<Job> jobs = OnCounts(job, counts);
  std::vector<double> seconds;
  for (const Offer& offer : Compare(jobs, ObjectiveKind::kStepTime).offers) {
    seconds.resize(counts.size(), 1e30);
    if (!offer.fits()) continue;
    seconds[offer.job] = offer.seconds;
    EXPECT_GE(offer.seconds, LeastTrainingSeconds(jobs[offer.job]));
  }
  for (const double factor : {0.5, 0.99, 1.0, 1.5, 3.0, 1e6}) {
    const double deadline = seconds.back() * factor;
    const Offers offers = Compare(jobs, ObjectiveKind::kFewestGpus, deadline);
    const auto enough =
        std::find_if(seconds.begin(), seconds.end(), [&](double s) { return s <= deadline; });
    if (enough == seconds.end()) {
      EXPECT_FALSE(offers.offers.front().meets_deadline);
      continue;
    }
    ASSERT_TRUE(offers.offers.front().meets_deadline);
    EXPECT_EQ(offers.offers.front().job, static_cast<size_t>(enough - seconds.begin())) << factor;
  }
}

// Plans below 16 bits may be quicker than the peak in 16 bits.
TEST(OffersTest, TheLeastTimeIsThatOfThePrecision) {
  Job job = TextJob("llama3.1-405b", "b300-sxm-288gb", 256);
  job.training.global_batch_samples = 4096;
  const double in_16_bits = LeastTrainingSeconds(job);
  job.training.precision = Precision::kNvfp4;
  EXPECT_DOUBLE_EQ(LeastTrainingSeconds(job) * PeakRatioOf(NumberFormat::kNvfp4), in_16_bits);
  const Offer fewest = Compare({job}, ObjectiveKind::kStepTime).offers.front();
  ASSERT_TRUE(fewest.fits());
  EXPECT_LT(fewest.seconds, in_16_bits);
  EXPECT_GE(fewest.seconds, LeastTrainingSeconds(job));
  EXPECT_TRUE(Compare({job}, ObjectiveKind::kFewestGpus, 1.01 * fewest.seconds)
                  .offers.front()
                  .meets_deadline);
}

TEST(OffersTest, DeadlineCountsRestarts) {
  Job job = OnGpu("h100-sxm-80gb", 16, 0);
  const Offers without = Compare({job}, ObjectiveKind::kStepTime);
  const double deadline = without.offers[0].seconds * 1.01;
  EXPECT_TRUE(Compare({job}, ObjectiveKind::kStepTime, deadline).offers[0].meets_deadline);
  job.reliability = {.node_mean_time_between_failures_seconds = 86400,
                     .checkpoint_bytes_per_second = 1e9,
                     .restart_seconds = 900};
  const Offers with = Compare({job}, ObjectiveKind::kStepTime, deadline);
  EXPECT_FALSE(with.offers[0].meets_deadline);
  EXPECT_TRUE(with.offers[0].fits());
  EXPECT_GT(with.offers[0].gpu_days, without.offers[0].gpu_days);
}

TEST(OffersTest, StopsAndSaysSo) {
  int64_t asked = 0;
  PlanHooks hooks;
  hooks.stop = [&] { return ++asked > 400; };
  const std::vector<Job> jobs(5, OnGpu("h100-sxm-80gb", 64, 0));
  EXPECT_EQ(CompareOffers(jobs, hooks).end, PlanEnd::kStopped);
  EXPECT_LT(asked, 500);
}

TEST(OffersTest, NothingToCompare) { EXPECT_TRUE(CompareOffers({}, {}).offers.empty()); }

}  // namespace
}  // namespace evenkeel::planner
