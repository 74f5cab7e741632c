#include "planner/search/misfit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/make_plan.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Plan PlanOf(const Job& job) {
  const PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  for (const std::string& fault : result.faults) ADD_FAILURE() << fault;
  return result.plan;
}

Job Apply(Job job, const Remedy& remedy) {
  switch (remedy.kind) {
    case RemedyKind::kMoreGpus:
      job.cluster.gpu_count = remedy.gpu_count;
      break;
    case RemedyKind::kSmallerCaps:
      job.training.unit_cap = remedy.unit_cap;
      job.training.token_cap = remedy.token_cap;
      break;
    case RemedyKind::kAllowRecompute:
      job.constraints.recompute = RecomputePolicy::kAuto;
      break;
    case RemedyKind::kShardOptimizer:
      job.training.zero_stage = ZeroStage::kOptimizer;
      break;
    case RemedyKind::kFreeDegrees: {
      Constraints& c = job.constraints;
      c.tensor_parallel = c.pipeline_parallel = c.data_parallel = {};
      c.context_parallel.min = c.expert_parallel.min = c.virtual_stages.min = 1;
      c.stage_layers.clear();
      break;
    }
    case RemedyKind::kLargerGpu:
      job.cluster.gpu = FindGpu(remedy.gpu)->spec;
      break;
    case RemedyKind::kContextParallel:
      job.constraints.context_parallel = {1, 0};
      break;
    case RemedyKind::kExpertParallel:
      job.constraints.expert_parallel = {1, 0};
      break;
    case RemedyKind::kShardWeights:
      job.training.zero_stage = ZeroStage::kWeights;
      break;
  }
  return job;
}

// Plans the job, which must not fit, and checks what it says. Gives the kinds of remedies.
std::vector<RemedyKind> CheckMisfit(const Job& job) {
  const Plan plan = PlanOf(job);
  EXPECT_FALSE(plan.fits);
  const Misfit& misfit = plan.misfit;
  EXPECT_GT(misfit.short_bytes, 0);
  EXPECT_EQ(misfit.short_bytes, misfit.memory.total() - misfit.capacity_bytes);
  EXPECT_GE(misfit.stage, 0);
  EXPECT_LT(misfit.stage, misfit.parallelism.pipeline);
  EXPECT_FALSE(misfit.layers.empty());
  EXPECT_TRUE(plan.stages.empty());
  std::vector<RemedyKind> kinds;
  for (const Remedy& remedy : misfit.remedies) {
    kinds.push_back(remedy.kind);
    EXPECT_FALSE(remedy.text.empty());
    EXPECT_TRUE(PlanOf(Apply(job, remedy)).fits) << remedy.text;
  }
  return kinds;
}

bool Has(const std::vector<RemedyKind>& kinds, RemedyKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

TEST(MisfitTest, ModelFarTooLarge) {
  const auto kinds = CheckMisfit(TextJob("llama3-70b", "a100-sxm-80gb", 8));
  EXPECT_TRUE(Has(kinds, RemedyKind::kMoreGpus));
  EXPECT_TRUE(Has(kinds, RemedyKind::kLargerGpu));
}

TEST(MisfitTest, RecomputeForbidden) {
  Job job = QuickstartJob();
  job.constraints.recompute = RecomputePolicy::kForbidden;
  job.training.unit_cap = 32;
  job.training.token_cap = 12'000;
  FixDegrees(job, 2, 4, 4);
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kAllowRecompute));
}

TEST(MisfitTest, OptimizerNotSharded) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 16);
  job.training.zero_stage = ZeroStage::kNone;
  FixDegrees(job, 1, 1, 16);
  const auto kinds = CheckMisfit(job);
  EXPECT_TRUE(Has(kinds, RemedyKind::kShardOptimizer));
  EXPECT_TRUE(Has(kinds, RemedyKind::kFreeDegrees));
}

TEST(MisfitTest, PacksTooLarge) {
  Job job = VisionJob("internvit-6b-448px-v1.5", "internlm2-20b", "a100-sxm-80gb", 32);
  job.training.unit_cap = 200;
  job.training.token_cap = 60'000;
  FixDegrees(job, 1, 8, 4);
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kSmallerCaps));
}

TEST(MisfitTest, FixedPartitionNamesItsFullestStage) {
  Job job = QuickstartJob();
  job.constraints.stage_layers = {80, 5, 4, 4};
  FixDegrees(job, 1, 4, 8);
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kFreeDegrees));
  EXPECT_EQ(PlanOf(job).misfit.stage, 0);
}

TEST(MisfitTest, LongSamplesNeedContextParallel) {
  Job job = TextJob("llama3-8b", "h200-sxm-141gb", 8);
  job.dataset.bins = {{0, 262'144, 1000}};
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.pipeline_parallel = {1, 1};
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kContextParallel));
}

TEST(MisfitTest, ManyExpertsNeedExpertParallel) {
  Job job = TextJob("mixtral-8x7b", "h100-sxm-80gb", 32);
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.pipeline_parallel = {1, 2};
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kExpertParallel));
}

TEST(MisfitTest, ManyGpusWithoutPipelineNeedShardedWeights) {
  Job job = TextJob("llama3-70b", "a100-sxm-80gb", 64);
  job.constraints.tensor_parallel = {1, 1};
  job.constraints.pipeline_parallel = {1, 1};
  EXPECT_TRUE(Has(CheckMisfit(job), RemedyKind::kShardWeights));
}

TEST(MisfitTest, EveryScheduleSaysWhatIsMissing) {
  for (const Schedule schedule :
       {Schedule::kInterleaved, Schedule::kGPipe, Schedule::kZeroBubble}) {
    Job job = WholeSpace(TextJob("llama3-70b", "a100-sxm-80gb", 16));
    job.constraints.schedule = schedule;
    CheckMisfit(job);
  }
}

TEST(MisfitTest, NothingHelps) {
  Job job = TextJob("llama3.1-405b", "b300-sxm-288gb", 1);
  job.cluster.reserved_bytes = job.cluster.gpu.memory_bytes;
  EXPECT_FALSE(PlanOf(job).fits);
}

TEST(MisfitTest, FewestGpusAreNotTooMany) {
  const Job job = TextJob("llama3-70b", "a100-sxm-80gb", 8);
  for (const Remedy& remedy : PlanOf(job).misfit.remedies) {
    if (remedy.kind != RemedyKind::kMoreGpus) continue;
    EXPECT_EQ(remedy.gpu_count % 8, 0);
    Job fewer = job;
    fewer.cluster.gpu_count = remedy.gpu_count - 8;
    EXPECT_FALSE(PlanOf(fewer).fits);
  }
}

}  // namespace
}  // namespace evenkeel::planner
