// Weights in host memory: what leaves the GPUs, what that costs, and what a host holds.
#include <gtest/gtest.h>

#include <string>

#include "planner/base/random.h"
#include "planner/base/units.h"
#include "planner/cost/host_memory.h"
#include "planner/evaluate_plan.h"
#include "planner/explain/apply_remedy.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

Job ShardedJob(const char* model, const char* gpu, int64_t gpus,
               const char* trainer = "torchtitan") {
  Job job = TextJob(model, gpu, gpus);
  job.training.trainer = FindTrainer(trainer);
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  job.constraints.recompute = RecomputePolicy::kWholeLayers;
  job.training.global_batch_samples = 16 * gpus;
  return job;
}

Job InHost(Job job) {
  job.training.offload = {.asked = true, .ratio = 1, .charged_ratio = 1, .weights = true};
  return job;
}

TEST(WeightOffloadTest, FitsWhatStatesFill) {
  const Job job = ShardedJob("llama3-8b", "h100-sxm-80gb", 1);
  EXPECT_FALSE(CheckedPlan(job).fits());
  const Plan plan = CheckedPlan(InHost(job));
  ASSERT_TRUE(plan.fits());
  EXPECT_TRUE(plan.offload->weights);
  EXPECT_EQ(plan.stages[0].memory.weights, 0);
  EXPECT_EQ(plan.stages[0].memory.gradients, 0);
  EXPECT_EQ(plan.stages[0].memory.optimizer, 0);
  // Master weights and moments in fp32, and gradients: 16 bytes of each of 8 billion parameters.
  EXPECT_NEAR(static_cast<double>(plan.offload->host_bytes), 16 * 8.03e9, 1e9);
  EXPECT_EQ(plan.offload->gpu_bytes, plan.offload->host_bytes);
  EXPECT_EQ(plan.offload->step_without_ns, 0);
  EXPECT_GT(plan.offload->added_ns, 0);
}

// PyTorch's FSDP moves gradients to the host only when no_sync() ends.
TEST(WeightOffloadTest, WholeGradientsStayUntilTheyAreReduced) {
  Job job = InHost(ShardedJob("llama3-8b", "h100-sxm-80gb", 8, "pytorch-fsdp"));
  job.training.token_cap = 8192;
  const Plan sharded = CheckedPlan(job);
  ASSERT_TRUE(sharded.fits());
  ASSERT_GT(sharded.prediction.micro_batches, 1);
  EXPECT_EQ(sharded.stages[0].memory.gradients, 0);
  job.training.execution.accumulates_whole_gradients = true;
  const Plan whole = CheckedPlan(job);
  ASSERT_TRUE(whole.fits());
  EXPECT_NEAR(static_cast<double>(whole.stages[0].memory.gradients), 2 * 8.03e9, 1e8);
  EXPECT_EQ(whole.offload->host_bytes, sharded.offload->host_bytes);
}

TEST(WeightOffloadTest, OneMicroBatchHasNoWholeGradientsToMove) {
  Job job = InHost(ShardedJob("llama3-8b", "h100-sxm-80gb", 8, "pytorch-fsdp"));
  job.training.token_cap = 8192;
  job.training.global_batch_samples = 8;
  const Plan plain = CheckedPlan(job);
  ASSERT_TRUE(plain.fits());
  ASSERT_EQ(plain.prediction.micro_batches, 1);
  job.training.execution.accumulates_whole_gradients = true;
  EXPECT_EQ(CheckedPlan(job).offload->gpu_bytes, plain.offload->gpu_bytes);
}

TEST(WeightOffloadTest, IsARemedyOfTrainersThatOffloadThem) {
  const auto offered = [](const Job& job) {
    const Plan plan = CheckedPlan(job);
    EXPECT_FALSE(plan.fits());
    for (const Remedy& remedy : plan.misfit->remedies) {
      if (remedy.kind != RemedyKind::kOffloadWeights) continue;
      EXPECT_TRUE(CheckedPlan(ApplyRemedy(job, remedy)).fits());
      return true;
    }
    return false;
  };
  Job job = ShardedJob("llama3-8b", "h100-sxm-80gb", 1);
  EXPECT_TRUE(offered(job));
  job.cluster.host_memory_bytes = 64 * kGiB;
  EXPECT_FALSE(offered(job)) << "the host has no room";
  EXPECT_FALSE(offered(ShardedJob("llama3-8b", "h100-sxm-80gb", 1, "nanotron")));
}

TEST(WeightOffloadTest, ALackOfHostMemoryHasMoreOfItAsRemedy) {
  Job job = InHost(ShardedJob("llama3-8b", "h100-sxm-80gb", 8));
  job.cluster.host_memory_bytes = 64 * kGiB;
  const Plan plan = CheckedPlan(job);
  ASSERT_FALSE(plan.fits());
  EXPECT_GT(plan.misfit->host_short_bytes, 0);
  ASSERT_FALSE(plan.misfit->remedies.empty());
  const Remedy& remedy = plan.misfit->remedies.front();
  ASSERT_EQ(remedy.kind, RemedyKind::kMoreHostMemory);
  EXPECT_GE(remedy.host_memory_bytes, 64 * kGiB + plan.misfit->host_short_bytes);
  EXPECT_TRUE(CheckedPlan(ApplyRemedy(job, remedy)).fits());
  job.cluster.host_memory_bytes = remedy.host_memory_bytes - kGiB;
  EXPECT_FALSE(CheckedPlan(job).fits()) << "no less is enough";
}

TEST(WeightOffloadTest, FasterLinksLeaveLessToWaitFor) {
  Job job = InHost(ShardedJob("llama3-8b", "h100-sxm-80gb", 8));
  int64_t before = 0;
  for (const double rate : {2e9, 10e9, 50e9, 400e9}) {
    job.cluster.host_link_bytes_per_second = rate;
    job.cluster.host_memory_bytes_per_second = 16 * rate;
    const Plan plan = CheckedPlan(job);
    ASSERT_TRUE(plan.fits());
    if (before > 0) {
      EXPECT_LT(plan.offload->added_ns, before) << rate;
    }
    before = plan.offload->added_ns;
  }
}

// More leaves the GPUs than with only the optimizer: whatever fits without fits with it, if the
// host has room, and no plan takes more of the host than there is.
TEST(WeightOffloadTest, RandomJobsHoldTheirHosts) {
  Random random(7);
  const char* const gpus[] = {"h100-sxm-80gb", "a100-sxm-40gb", "gh200-96gb"};
  const char* const trainers[] = {"torchtitan", "torchtune", "pytorch-fsdp", "unlimited"};
  int fit = 0, lacked = 0;
  for (int i = 0; i < 24; ++i) {
    Job job = ShardedJob("llama3-8b", gpus[random.Below(3)], int64_t{1} << random.Below(4),
                         trainers[random.Below(4)]);
    job.model.language_model.layers = 4 + static_cast<int64_t>(random.Below(29));
    job.training.token_cap = int64_t{4096} << random.Below(3);
    if (random.Below(2) == 0)
      job.cluster.host_memory_bytes = static_cast<int64_t>(30 + random.Below(300)) * kGiB;
    const Plan without = CheckedPlan(job), with = CheckedPlan(InHost(job));
    if (with.fits()) {
      ++fit;
      EXPECT_LE(with.placement.host_memory_bytes, HostOf(job.cluster).memory_bytes);
      EXPECT_TRUE(without.fits() || with.offload->step_without_ns == 0);
      continue;
    }
    const bool host = with.misfit->host_short_bytes > 0;
    lacked += host ? 1 : 0;
    EXPECT_TRUE(host || !without.fits()) << "job " << i;
  }
  EXPECT_GT(fit, 5);
  EXPECT_GT(lacked, 2);
}

TEST(WeightOffloadTest, AnEvaluatedPlanHasThePlansFigures) {
  Job job = InHost(ShardedJob("llama3-8b", "h100-sxm-80gb", 2));
  job.training.token_cap = 8192;
  const Plan plan = CheckedPlan(job);
  ASSERT_TRUE(plan.fits());
  const Evaluation same = EvaluatePlan(job, SpecOf(plan));
  ASSERT_TRUE(same.faults.empty());
  EXPECT_EQ(same.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
  EXPECT_EQ(same.plan.offload->added_ns, plan.offload->added_ns);
  EXPECT_EQ(same.plan.offload->host_bytes, plan.offload->host_bytes);
}

}  // namespace
}  // namespace evenkeel::planner
