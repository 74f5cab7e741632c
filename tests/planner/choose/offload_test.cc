#include "planner/choose/offload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/base/units.h"
#include "planner/cost/host_memory.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "planner/space/offload.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

Job Offloading(Job job) {
  job.training.offload.asked = job.training.offload.choose = true;
  return job;
}

Job Pinned(const Job& job, double ratio) { return WithOffload(Offloading(job), ratio); }

// Dense models whose memory binds more or less, and on several nodes.
std::vector<Job> Jobs() {
  std::vector<Job> jobs = {
      TextJob("qwen2.5-14b", "a100-sxm-80gb", 8), TextJob("llama3-8b", "a100-sxm-40gb", 8),
      TextJob("llama3-8b", "a100-sxm-80gb", 2), TextJob("llama3-70b", "h100-sxm-80gb", 16)};
  for (Job& job : jobs) job.training.global_batch_samples = 128;
  jobs.push_back(TextJob("llama3-8b", "a100-sxm-80gb", 4));
  jobs.back().training.trainer = FindTrainer("deepspeed");
  jobs.back().training.zero_stage = ZeroStage::kWeights;
  jobs.back().training.execution =
      DefaultExecution(*jobs.back().training.trainer, ZeroStage::kWeights);
  return jobs;
}

// Returns the job with the plan's packs.
Job WithPacksOf(const Plan& plan, Job job) {
  job.training.token_cap = plan.batch_rule.token_cap;
  return job;
}

// Within the tolerance of the choice, and the rounding of a batch.
constexpr double kTolerance = 1.0045;

TEST(ChooseOffloadTest, NoPinnedShareIsBetter) {
  for (const Job& job : Jobs()) {
    const Plan free = CheckedPlan(Offloading(job));
    for (const double ratio : {0.0, 0.05, 0.2, 0.37, 0.5, 0.613, 0.8, 1.0}) {
      const Plan pinned = CheckedPlan(Pinned(job, ratio));
      if (!pinned.fits()) continue;
      ASSERT_TRUE(free.fits()) << job.model.name << " " << ratio;
      EXPECT_LE(static_cast<double>(free.offload->step_ns),
                kTolerance * static_cast<double>(pinned.offload->step_ns))
          << job.model.name << " on " << job.cluster.gpu_count << ": " << free.offload->ratio
          << " against " << ratio;
    }
  }
}

TEST(ChooseOffloadTest, TakesTheLeastShareOfItsPlan) {
  for (const Job& job : Jobs()) {
    const Plan plan = CheckedPlan(Offloading(job));
    ASSERT_TRUE(plan.fits());
    const double ratio = plan.offload->ratio;
    if (ratio == 0) continue;
    const PlanSpec spec = SpecOf(plan);
    const Job packed = WithPacksOf(plan, job);
    const Evaluation same = EvaluatePlan(Pinned(packed, ratio), spec);
    ASSERT_TRUE(same.faults.empty());
    EXPECT_TRUE(same.plan.fits());
    const Evaluation less = EvaluatePlan(Pinned(packed, std::max(0.0, ratio - 0.001)), spec);
    EXPECT_FALSE(less.plan.fits()) << job.model.name << " " << ratio;
  }
}

TEST(ChooseOffloadTest, GainIsShownAgainstThePlanWithout) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 2);
  job.training.global_batch_samples = 128;
  const Plan with = CheckedPlan(Offloading(job)), without = CheckedPlan(job);
  ASSERT_TRUE(with.offload && with.offload->ratio > 0);
  EXPECT_FALSE(without.offload);
  EXPECT_GE(with.offload->step_without_ns, with.offload->step_ns);
  EXPECT_GT(with.offload->added_ns, 0);
  EXPECT_GT(with.offload->gpu_bytes, kGiB);
  // Gradients' copies take 4 bytes in addition to the 12 of the states.
  EXPECT_NEAR(static_cast<double>(with.offload->host_bytes),
              2 * 16.0 / 12 * static_cast<double>(with.offload->gpu_bytes), 1e7);
}

TEST(ChooseOffloadTest, FitsWhereNothingDoesWithout) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 1);
  EXPECT_FALSE(CheckedPlan(job).fits());
  const Plan plan = CheckedPlan(Offloading(job));
  ASSERT_TRUE(plan.fits());
  EXPECT_GT(plan.offload->ratio, 0.3);
  EXPECT_EQ(plan.offload->step_without_ns, 0);
}

TEST(ChooseOffloadTest, GainsNothingWhereMemoryIsAmple) {
  const Plan plan = CheckedPlan(Offloading(TextJob("qwen2-0.5b", "h100-sxm-80gb", 8)));
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(plan.offload->ratio, 0);
  EXPECT_EQ(plan.offload->added_ns, 0);
  EXPECT_EQ(plan.offload->host_bytes, 0);
}

TEST(ChooseOffloadTest, HostMemoryIsNeverExceeded) {
  Job job = TextJob("qwen2.5-32b", "a100-sxm-80gb", 8);
  job.training.global_batch_samples = 128;
  bool some_fit = false, some_lack = false;
  for (const int64_t gib : {100, 300, 450, 480, 500, 520, 560, 600, 700}) {
    job.cluster.host_memory_bytes = gib * kGiB;
    const Plan free = CheckedPlan(Offloading(job));
    if (free.fits()) {
      some_fit = true;
      EXPECT_LE(free.placement.host_memory_bytes, gib * kGiB);
    }
    for (const double ratio : {0.0, 0.25, 0.6, 1.0}) {
      const Plan pinned = CheckedPlan(Pinned(job, ratio));
      if (!pinned.fits()) {
        some_lack = some_lack || pinned.misfit->host_short_bytes > 0;
        continue;
      }
      EXPECT_LE(pinned.placement.host_memory_bytes, gib * kGiB);
      EXPECT_TRUE(free.fits()) << gib << " " << ratio;
    }
  }
  EXPECT_TRUE(some_fit);
  EXPECT_TRUE(some_lack);
}

TEST(ChooseOffloadTest, HoldsHostsOfEverySchedule) {
  for (const Schedule schedule :
       {Schedule::kOneFOneB, Schedule::kInterleaved, Schedule::kGPipe, Schedule::kZeroBubble}) {
    Job job = TextJob("qwen2.5-14b", "a100-sxm-80gb", 8);
    job.training.global_batch_samples = 64;
    job.constraints.pipeline_parallel = {4, 4};
    job.constraints.schedule = schedule;
    if (schedule == Schedule::kInterleaved) job.constraints.virtual_stages = {2, 2};
    int fits = 0;
    for (const int64_t gib : {240, 280, 300, 400}) {
      job.cluster.host_memory_bytes = gib * kGiB;
      const Plan plan = CheckedPlan(Pinned(job, 0.9));
      if (!plan.fits()) continue;
      ++fits;
      EXPECT_LE(plan.placement.host_memory_bytes, gib * kGiB);
    }
    EXPECT_GT(fits, 0);
  }
}

TEST(ChooseOffloadTest, WholeStatesAreOffloadedAllOrNotAtAll) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 2);
  job.training.trainer = FindTrainer("deepspeed");
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kOptimizer);
  job.constraints.recompute = RecomputePolicy::kWholeLayers;
  const Plan plan = CheckedPlan(Offloading(job));
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(plan.offload->ratio, 1);
}

TEST(ChooseOffloadTest, AnEvaluatedPlanHasThePlansFigures) {
  const Job job = Pinned(TextJob("llama3-8b", "a100-sxm-80gb", 2), 0.5);
  const Plan plan = CheckedPlan(job);
  const Evaluation same = EvaluatePlan(WithPacksOf(plan, job), SpecOf(plan));
  ASSERT_TRUE(same.faults.empty());
  EXPECT_EQ(same.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
  EXPECT_EQ(same.plan.offload->added_ns, plan.offload->added_ns);
  EXPECT_EQ(same.plan.offload->host_bytes, plan.offload->host_bytes);
  EXPECT_EQ(same.plan.stages[0].memory.total(), plan.stages[0].memory.total());

  Job small = job;
  small.cluster.host_memory_bytes = 60 * kGiB;
  const Evaluation lacks = EvaluatePlan(small, SpecOf(plan));
  ASSERT_FALSE(lacks.plan.fits());
  EXPECT_GT(lacks.plan.misfit->host_short_bytes, 0);
  EXPECT_EQ(lacks.plan.misfit->short_bytes, 0);
}

// A faster link and host leave less to pay, so no plan gets slower.
TEST(ChooseOffloadTest, FasterHostsMakeNoPlanSlower) {
  Job job = Offloading(TextJob("qwen2.5-14b", "a100-sxm-80gb", 8));
  int64_t before = 0;
  for (const double rate : {100e9, 400e9, 4000e9}) {
    job.cluster.host_memory_bytes_per_second = rate;
    job.cluster.host_link_bytes_per_second = rate / 16;
    const int64_t step = CheckedPlan(job).offload->step_ns;
    if (before > 0) {
      EXPECT_LE(static_cast<double>(step), kTolerance * static_cast<double>(before));
    }
    before = step;
  }
}

}  // namespace
}  // namespace evenkeel::planner
