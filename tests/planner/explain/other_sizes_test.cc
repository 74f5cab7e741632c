#include "planner/explain/other_sizes.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "planner/explain/changed_job.h"
#include "planner/hardware/gpus.h"
#include "planner/make_plan.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Plan WithSizes(Job job) {
  job.compare_sizes = true;
  return MakePlan(job, {}).plan;
}

TEST(OtherSizesTest, AreEmptyUnlessAskedFor) {
  EXPECT_TRUE(MakePlan(TextJob("llama3-8b", "h100-sxm-80gb", 16), {}).plan.other_sizes.empty());
}

TEST(OtherSizesTest, ANodeLessAndMoreWithTheSameBatch) {
  const Plan plan = WithSizes(TextJob("llama3-8b", "h100-sxm-80gb", 32));
  ASSERT_EQ(plan.other_sizes.size(), 4u);
  const OtherSize &less = plan.other_sizes[0], &more = plan.other_sizes[1];
  EXPECT_EQ(less.change, SizeChange::kNodeLess);
  EXPECT_EQ(less.gpu_count, 24);
  EXPECT_EQ(more.gpu_count, 40);
  for (const OtherSize& size : {less, more}) {
    EXPECT_EQ(size.gpu, "h100-sxm-80gb");
    ASSERT_TRUE(size.fits);
    EXPECT_NEAR(size.plan.samples_per_step, 512, 36);
    const Parallelism& p = size.plan.parallelism;
    EXPECT_EQ(p.tensor * p.context * p.pipeline * p.data, size.gpu_count);
  }
  EXPECT_GT(less.plan.step_ns, plan.prediction.step.total_ns);
  EXPECT_EQ(plan.other_sizes[2].change, SizeChange::kSmallerGpu);
  EXPECT_EQ(plan.other_sizes[3].change, SizeChange::kLargerGpu);
  EXPECT_GE(FindGpu(plan.other_sizes[3].gpu)->spec.memory_bytes, int64_t{80} << 30);
  EXPECT_LE(FindGpu(plan.other_sizes[2].gpu)->spec.memory_bytes, int64_t{80} << 30);
}

TEST(OtherSizesTest, AFixedDataParallelDegreeYieldsToTheCount) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  FixDegrees(job, 2, 1, 8);
  const Plan plan = WithSizes(job);
  ASSERT_GE(plan.other_sizes.size(), 2u);
  EXPECT_EQ(plan.other_sizes[0].plan.parallelism.data, 4);
  EXPECT_EQ(plan.other_sizes[1].plan.parallelism.data, 12);
}

TEST(OtherSizesTest, GpuTypesMultiplyInTheJobsPrecision) {
  Job job = TextJob("llama3-8b", "b200-sxm-180gb", 8);
  job.training.precision = Precision::kNvfp4;
  const Plan plan = WithSizes(job);
  ASSERT_EQ(plan.other_sizes.size(), 3u);
  for (const OtherSize& size : plan.other_sizes) {
    EXPECT_TRUE(HasProducts(FindGpu(size.gpu)->spec, NumberFormat::kNvfp4)) << size.gpu;
    EXPECT_TRUE(size.fits);
  }
}

TEST(OtherSizesTest, RemediesKeepTheJobsPrecision) {
  Job job = TextJob("llama3-70b", "l40s-48gb", 8);
  job.training.precision = Precision::kFp8Current;
  const Plan plan = MakePlan(job, {}).plan;
  ASSERT_FALSE(plan.fits());
  for (const Remedy& remedy : plan.misfit->remedies) {
    if (remedy.kind != RemedyKind::kLargerGpu) continue;
    EXPECT_TRUE(HasProducts(FindGpu(remedy.gpu)->spec, NumberFormat::kFp8)) << remedy.gpu;
  }
}

TEST(OtherSizesTest, WhatDoesNotFitIsListed) {
  const Plan plan = WithSizes(TextJob("llama3-70b", "h200-sxm-141gb", 16));
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(plan.other_sizes[0].gpu_count, 8);
  EXPECT_FALSE(plan.other_sizes[0].fits);
}

TEST(OtherSizesTest, OneNodeHasNoLess) {
  const Plan plan = WithSizes(TextJob("qwen2-0.5b", "h100-sxm-80gb", 4));
  EXPECT_EQ(plan.other_sizes[0].change, SizeChange::kNodeMore);
  EXPECT_EQ(plan.other_sizes[0].gpu_count, 8);
}

// A unit less and a unit more where the job must fill units, and no more than the network joins.
TEST(OtherSizesTest, UnitsAreFilledAndJoined) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 64);
  job.cluster.domain = {"rack", 40, 32, /*filled=*/true};
  const auto counts = [&] {
    std::vector<int64_t> found;
    for (const OtherSize& size : WithSizes(job).other_sizes) {
      if (size.change == SizeChange::kNodeLess || size.change == SizeChange::kNodeMore)
        found.push_back(size.gpu_count);
    }
    return found;
  };
  EXPECT_EQ(counts(), (std::vector<int64_t>{32, 96}));
  job.cluster.joined_gpus = 96;
  EXPECT_EQ(counts(), (std::vector<int64_t>{32, 96}));
  job.cluster.joined_gpus = 95;
  EXPECT_EQ(counts(), (std::vector<int64_t>{32}));
}

// Hugging Face's Trainer shards what several GPUs hold, and one GPU has nothing to share.
TEST(OtherSizesTest, AStageThatIsNotGivenFollowsTheCount) {
  Job job = TextJob("qwen2-0.5b", "h100-sxm-80gb", 2);
  Training& training = job.training;
  training.trainer = FindTrainer("huggingface-trainer");
  training.zero_stage = training.trainer->zero_stage;
  training.execution = DefaultExecution(*training.trainer, training.zero_stage);
  const Training several = training;
  training.stage_by_gpus = true;
  ChangeGpuCount(1, &job);
  EXPECT_EQ(training.zero_stage, ZeroStage::kNone);
  EXPECT_TRUE(training.execution.frees_gradients);
  ChangeGpuCount(4, &job);
  EXPECT_EQ(training.zero_stage, several.zero_stage);
  EXPECT_EQ(training.execution.frees_gradients, several.execution.frees_gradients);
  EXPECT_EQ(training.execution.weight_hook_ns, several.execution.weight_hook_ns);
  training.stage_by_gpus = false;
  ChangeGpuCount(1, &job);
  EXPECT_EQ(training.zero_stage, several.zero_stage);
}

TEST(OtherSizesTest, ResizedNodes) {
  const Cluster four = ClusterOf("h100-sxm-80gb", 4);
  EXPECT_EQ(Resized(four, 8).gpus_per_node, 8);
  EXPECT_EQ(Resized(four, 12).gpus_per_node, 4);
  EXPECT_EQ(Resized(four, 16).gpus_per_node, 8);
  EXPECT_EQ(Resized(four, 2).gpus_per_node, 2);
}

Job Trained(Job job, std::string_view trainer, ZeroStage stage) {
  job.training.trainer = FindTrainer(trainer);
  job.training.zero_stage = stage;
  job.training.execution = DefaultExecution(*job.training.trainer, stage);
  if (!job.training.trainer->tensor_parallel) job.constraints.tensor_parallel = {1, 1};
  if (!job.training.trainer->pipeline) job.constraints.pipeline_parallel = {1, 1};
  return job;
}

std::vector<OtherSharding> ShardingsOf(Job job) {
  job.compare_shardings = true;
  return MakePlan(job, {}).plan.other_shardings;
}

// A short search finds about the plan of the job that asks for the sharding.
TEST(OtherShardingsTest, ArePlansOfTheShardedJob) {
  const Job job =
      Trained(TextJob("llama3-8b", "h100-sxm-80gb", 16), "deepspeed", ZeroStage::kWeights);
  const std::vector<OtherSharding> others = ShardingsOf(job);
  ASSERT_EQ(others.size(), 6u);
  int fit = 0;
  for (const OtherSharding& other : others) {
    Job asked = job;
    if (other.stage != job.training.zero_stage) ChangeZeroStage(other.stage, &asked.training);
    asked.training.zero_group = other.group;
    const Plan plan = MakePlan(asked, {}).plan;
    ASSERT_EQ(other.plan.has_value(), plan.fits());
    if (!plan.fits()) continue;
    ++fit;
    EXPECT_NEAR(other.plan->gpu_days / plan.prediction.gpu_days, 1, 0.03);
  }
  EXPECT_GE(fit, 3);
}

TEST(OtherShardingsTest, AreThoseThatTheTrainerHas) {
  // It always shards weights, over all ranks or inside nodes.
  const Job two_nodes = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  std::vector<OtherSharding> others =
      ShardingsOf(Trained(two_nodes, "torchtitan", ZeroStage::kWeights));
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others.front().stage, ZeroStage::kWeights);
  EXPECT_EQ(others.front().group, 8);
  const Job one_node = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  EXPECT_TRUE(ShardingsOf(Trained(one_node, "torchtitan", ZeroStage::kWeights)).empty());
  EXPECT_EQ(ShardingsOf(Trained(one_node, "deepspeed", ZeroStage::kGradients)).size(), 3u);
  Job offloads = Trained(two_nodes, "deepspeed", ZeroStage::kGradients);
  offloads.training.offload = {.asked = true, .given = true, .ratio = 1, .charged_ratio = 1};
  for (const OtherSharding& other : ShardingsOf(offloads))
    EXPECT_EQ(other.stage, ZeroStage::kGradients);
  EXPECT_TRUE(MakePlan(two_nodes, {}).plan.other_shardings.empty());
}

}  // namespace
}  // namespace evenkeel::planner
