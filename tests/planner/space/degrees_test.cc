#include "planner/space/degrees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "planner/cost/layer_profile.h"
#include "planner/cuts/even_cuts.h"
#include "planner/partition/methods.h"
#include "planner/plan_figures.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

struct Most {
  int64_t pipeline = 0, virtual_stages = 0;
};

Most MostOf(const Job& job) {
  Most most;
  ForEachDegrees(job, [&](const Parallelism& p, const DegreeRange& virtual_stages) {
    most.pipeline = std::max(most.pipeline, p.pipeline);
    most.virtual_stages = std::max(most.virtual_stages, virtual_stages.max);
    return true;
  });
  return most;
}

Job Under(std::string_view trainer, Job job) {
  job.training.trainer = FindTrainer(trainer);
  return job;
}

TEST(DegreesTest, VirtualStagesOfATrainerThatHasNoneMustBeAskedFor) {
  const Job text = WholeSpace(TextJob("llama3-8b", "h100-sxm-80gb", 8));
  EXPECT_GT(MostOf(Under("megatron-core", text)).virtual_stages, 1);
  for (const char* trainer : {"megatron-deepspeed", "nanotron"}) {
    Job job = Under(trainer, text);
    EXPECT_EQ(MostOf(job).virtual_stages, 1) << trainer;
    job.constraints.virtual_stages = {1, 2};
    EXPECT_EQ(MostOf(job).virtual_stages, 2) << trainer;
    job.constraints.virtual_stages = {1, 0};
    job.constraints.schedule = Schedule::kInterleaved;
    EXPECT_GT(MostOf(job).virtual_stages, 1) << trainer;
  }
}

// DeepSpeed's pipeline engine has no groups of ranks that share tokens.
TEST(DegreesTest, ContextParallelismInDeepSpeedsPipelinesMustBeAskedFor) {
  const auto both = [](const Job& job) {
    bool found = false;
    ForEachDegrees(job, [&](const Parallelism& p, const DegreeRange&) {
      found = found || (p.context > 1 && p.pipeline > 1);
      return true;
    });
    return found;
  };
  const Job text = WholeSpace(TextJob("llama3-8b", "h100-sxm-80gb", 8));
  EXPECT_TRUE(both(Under("megatron-core", text)));
  Job job = Under("megatron-deepspeed", text);
  EXPECT_FALSE(both(job));
  job.constraints.context_parallel = {2, 2};
  EXPECT_FALSE(both(job));
  job.constraints.pipeline_parallel = {2, 2};
  EXPECT_TRUE(both(job));
  const Plan plan = CheckedPlan(job);
  EXPECT_EQ(BeyondTrainer(job, plan),
            "Megatron-DeepSpeed has no context parallelism in a pipeline");
  EXPECT_EQ(BeyondTrainer(Under("megatron-core", job), plan), "");
}

// With 16 stages, nanotron's last one would have the head of Llama-3-8B alone.
TEST(DegreesTest, StagesThatTheTrainersCutLeavesEmptyAreLeftOut) {
  Job job = WholeSpace(Under("nanotron", TextJob("llama3-8b", "a100-sxm-80gb", 64)));
  const auto has = [&](int64_t pipeline) {
    FixDegrees(job, 1, pipeline, 64 / pipeline);
    return MostOf(job).pipeline == pipeline;
  };
  EXPECT_TRUE(has(16));
  job.constraints.partition_method = PartitionMethod::kWeights;
  EXPECT_FALSE(has(16));
  EXPECT_TRUE(has(2));
  job.constraints.stage_layers = std::vector<int64_t>(16, 2);
  EXPECT_TRUE(has(16));
}

TEST(DegreesTest, AWholeEncoderNeedsNeitherItsLayersNorVirtualStages) {
  Job vision = WholeSpace(QuickstartJob());  // 45 + 48 layers
  vision.cluster.gpu_count = 64 * 49;
  EXPECT_GT(MostOf(vision).pipeline, 49);
  Job whole = Under("megatron-core", vision);
  EXPECT_TRUE(KeepsEncoderWhole(whole));
  EXPECT_EQ(MostOf(whole).pipeline, 49);  // the encoder, and one layer on each other stage
  EXPECT_EQ(MostOf(whole).virtual_stages, 1);
  whole.model.towers.clear();
  EXPECT_FALSE(KeepsEncoderWhole(whole));
}

TEST(DegreesTest, WhatIsAskedForFreesTheEncoder) {
  const Job whole = Under("megatron-core", QuickstartJob());
  ASSERT_TRUE(KeepsEncoderWhole(whole));
  Job job = whole;
  job.constraints.schedule = Schedule::kOneFOneB;
  EXPECT_TRUE(KeepsEncoderWhole(job));
  job.constraints.schedule = Schedule::kGPipe;
  EXPECT_FALSE(KeepsEncoderWhole(job));
  job = whole;
  job.constraints.virtual_stages = {2, 4};
  EXPECT_FALSE(KeepsEncoderWhole(job));
  job = whole;
  job.constraints.stage_layers = {22, 23, 24, 24};
  EXPECT_FALSE(KeepsEncoderWhole(job));
  job = whole;
  job.constraints.partition_method = PartitionMethod::kBmp;
  EXPECT_FALSE(KeepsEncoderWhole(job));
}

TEST(DegreesTest, EvenCutsLeaveAWholeEncoderOnTheFirstStage) {
  const Job job = Under("megatron-core", QuickstartJob());
  const PackShape pack{.units = 8, .tokens = 4096};
  for (const int64_t stages : {2, 4, 8, 49}) {
    const Parallelism p{1, stages, 1};
    const LayerProfile profile = BuildLayerProfile(job, p, pack, pack);
    ASSERT_EQ(profile.first_stage_layers, 47);  // patches, 45 layers, projector
    for (const std::vector<int64_t>& cut :
         {EvenLayerCut(profile, p), SplitByLayers(profile, stages),
          SplitByParameters(profile, stages)}) {
      ASSERT_EQ(static_cast<int64_t>(cut.size()), stages + 1);
      EXPECT_GE(cut[1], profile.first_stage_layers);
      for (size_t s = 0; s + 1 < cut.size(); ++s) EXPECT_LT(cut[s], cut[s + 1]) << stages;
    }
    if (stages > 2) {
      EXPECT_EQ(EvenLayerCut(profile, p)[1], profile.first_stage_layers);
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
