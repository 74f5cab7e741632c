// Layers that are updated inside the backward pass: the memory that this frees, its time, and the
// choices that it excludes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/evaluate_plan.h"
#include "planner/explain/remedies.h"
#include "planner/make_plan.h"
#include "planner/space/degrees.h"
#include "planner/space/fused_step.h"
#include "planner/space/offload.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

// A job with about one pack for each GPU and step.
Job OnePackEach(const char* model, const char* gpu, int64_t gpus,
                const char* trainer = "torchtitan") {
  Job job = TrainedBy(TextJob(model, gpu, gpus), trainer);
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  job.training.token_cap = 8192;
  double samples = 0, tokens = 0;
  for (const LengthBin& bin : job.dataset.bins) {
    samples += static_cast<double>(bin.count);
    tokens += static_cast<double>(bin.count) * static_cast<double>(bin.llm_tokens);
  }
  job.training.global_batch_samples = std::max<int64_t>(
      1, static_cast<int64_t>(static_cast<double>(gpus) * 8192 * samples / tokens));
  return job;
}

Job Fused(Job job) {
  job.training.fused_step = true;
  return job;
}

bool Helps(const Misfit& misfit, RemedyKind kind) {
  return std::any_of(misfit.remedies.begin(), misfit.remedies.end(),
                     [kind](const Remedy& remedy) { return remedy.kind == kind; });
}

TEST(FusedStepTest, FreesTheGradientsOfAllLayersButOne) {
  Job job = OnePackEach("llama3-8b", "h100-sxm-80gb", 8);
  job.constraints.tensor_parallel = job.constraints.context_parallel = {1, 1};
  job.constraints.recompute = RecomputePolicy::kFull;
  const Plan separate = CheckedPlan(job), fused = CheckedPlan(Fused(job));
  ASSERT_TRUE(separate.fits());
  ASSERT_TRUE(fused.fits());
  const MemoryParts &before = separate.stages[0].memory, &after = fused.stages[0].memory;
  EXPECT_EQ(after.gradients, 0);
  // The head with its norm has the most parameters, in fp32, shared by eight ranks.
  const int64_t head = 4 * int64_t{128256 + 1} * 4096 / 8;
  EXPECT_EQ(after.workspace - before.workspace, head);
  EXPECT_EQ(before.weights + before.optimizer, after.weights + after.optimizer);
  // It clips no gradients: 12 of 42 bytes per parameter. Launches of each layer take longer.
  EXPECT_LT(fused.prediction.step.optimizer_ns, separate.prediction.step.optimizer_ns);
  EXPECT_GT(static_cast<double>(fused.prediction.step.optimizer_ns),
            30. / 42 * static_cast<double>(separate.prediction.step.optimizer_ns));
  EXPECT_NEAR(static_cast<double>(fused.prediction.step.total_ns) /
                  static_cast<double>(separate.prediction.step.total_ns),
              1, 0.1);
}

TEST(FusedStepTest, IsARemedyAndFits) {
  Job job = OnePackEach("llama3-8b", "a100-sxm-40gb", 3);
  job.model.language_model.layers = 25;
  job.training.token_cap = 4096;  // as long as a sample
  job.training.global_batch_samples = 3;
  const Plan without = CheckedPlan(job);
  ASSERT_FALSE(without.fits());
  EXPECT_TRUE(Helps(*without.misfit, RemedyKind::kFusedStep));
  EXPECT_TRUE(CheckedPlan(Fused(job)).fits());
  job.training.trainer = FindTrainer("llm-foundry");  // which has none
  const Plan foundry = CheckedPlan(job);
  ASSERT_FALSE(foundry.fits());
  EXPECT_FALSE(Helps(*foundry.misfit, RemedyKind::kFusedStep));
}

TEST(FusedStepTest, SeveralMicroBatchesAreAMisfitWithRemedies) {
  Job job = Fused(OnePackEach("llama3-8b", "h100-sxm-80gb", 8));
  job.training.global_batch_samples *= 4;
  const Plan plan = CheckedPlan(job);
  ASSERT_TRUE(plan.misfit);
  EXPECT_EQ(plan.misfit->micro_batches, 4);
  EXPECT_EQ(plan.misfit->parallelism.data, 8);
  ASSERT_TRUE(Helps(*plan.misfit, RemedyKind::kSeparateStep));
  ASSERT_TRUE(Helps(*plan.misfit, RemedyKind::kSmallerBatch));
  ASSERT_TRUE(Helps(*plan.misfit, RemedyKind::kMoreGpus));
  for (const Remedy& remedy : plan.misfit->remedies)
    EXPECT_TRUE(CheckedPlan(ApplyRemedy(job, remedy)).fits()) << remedy.text;
}

TEST(FusedStepTest, DerivesCapsThatLeaveOneMicroBatch) {
  Job job = Fused(OnePackEach("llama3-8b", "h200-sxm-141gb", 8));
  job.training.token_cap = 0;
  job.training.global_batch_samples *= 4;
  const Plan plan = CheckedPlan(job);
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(plan.prediction.micro_batches, 1);
  EXPECT_GT(plan.batch_rule.token_cap, 16384);
  EXPECT_NE(plan.batch_rule.caps_reason.find("one micro-batch"), std::string::npos)
      << plan.batch_rule.caps_reason;
}

TEST(FusedStepTest, AnEvaluatedPlanHasThePlansFigures) {
  const Job job = Fused(OnePackEach("llama3-8b", "h100-sxm-80gb", 8));
  const Plan plan = CheckedPlan(job);
  ASSERT_TRUE(plan.fits());
  const Evaluation same = EvaluatePlan(job, SpecOf(plan));
  ASSERT_TRUE(same.faults.empty());
  EXPECT_EQ(same.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
  EXPECT_EQ(same.plan.prediction.step.optimizer_ns, plan.prediction.step.optimizer_ns);
  Job more = job;
  more.training.global_batch_samples *= 3;
  PlanSpec spec = SpecOf(plan);
  spec.micro_batches = 0;
  const Evaluation refused = EvaluatePlan(more, spec);
  ASSERT_EQ(refused.faults.size(), 1U);
  EXPECT_EQ(refused.faults[0].field, "parallelism.data");
}

TEST(FusedStepTest, EvaluatesOnlyWhatItAdmits) {
  Job job = Fused(OnePackEach("llama3-8b", "h100-sxm-80gb", 8));
  PlanSpec spec = SpecOf(CheckedPlan(job));
  spec.parallelism.pipeline = 2, spec.parallelism.data /= 2;
  const Evaluation evaluated = EvaluatePlan(job, spec);
  ASSERT_FALSE(evaluated.faults.empty());
  EXPECT_EQ(evaluated.faults[0].field, "parallelism.pipeline");
  spec.parallelism = {.data = 8, .expert = 2};
  job.training.trainer = FindTrainer("pytorch-fsdp");
  EXPECT_EQ(EvaluatePlan(job, spec).faults.at(0).field, "parallelism.expert");
}

TEST(FusedStepTest, HidesNoCopiesOfActivations) {
  Job job = Fused(OnePackEach("llama3-8b", "h100-sxm-80gb", 8, "torchtune"));
  job.training.token_cap = 4096;
  job.training.global_batch_samples = 8;
  job.cluster.host_link_bytes_per_second = 0.5e9;
  AskActivationOffload(job.model.language_model.layers, &job);
  EXPECT_TRUE(CheckedPlan(job).fits());
}

TEST(FusedStepTest, LongPacksHaveShorterOnesAsRemedies) {
  Job job = Fused(OnePackEach("llama3-8b", "h100-sxm-80gb", 8, "generic"));
  job.training.token_cap = 0;
  job.training.global_batch_samples = 512;
  const Plan plan = MakePlan(job, {}).plan;
  ASSERT_FALSE(plan.fits());
  EXPECT_TRUE(Helps(*plan.misfit, RemedyKind::kSeparateStep));
  EXPECT_TRUE(Helps(*plan.misfit, RemedyKind::kSmallerBatch));
  EXPECT_FALSE(Helps(*plan.misfit, RemedyKind::kOffloadOptimizer));
}

TEST(FusedStepTest, ExpertParallelismIsTheTrainers) {
  for (const char* trainer : {"torchtitan", "unlimited"}) {
    Job job = Fused(OnePackEach("qwen3-30b-a3b", "h200-sxm-141gb", 16, trainer));
    job.constraints.expert_parallel = {1, 0};
    bool several = false;
    ForEachDegrees(job, [&](const Parallelism& p, const DegreeRange&) {
      several = several || p.expert > 1;
      return true;
    });
    EXPECT_EQ(several, std::string(trainer) == "unlimited");
    EXPECT_TRUE(AdmitsFusedStep(job));
    job.constraints.expert_parallel = {2, 0};
    EXPECT_EQ(AdmitsFusedStep(job), several);
  }
}

// A plan is no worse than one with any given degrees, and a fused step fits wherever a separate one
// with one micro-batch does.
TEST(FusedStepTest, RandomJobsAreNoWorseThanPinnedOnes) {
  Random random(11);
  const char* const gpus[] = {"h100-sxm-80gb", "a100-sxm-40gb", "h200-sxm-141gb"};
  const char* const trainers[] = {"torchtitan", "torchtune", "pytorch-fsdp", "unlimited"};
  int fit = 0;
  for (int i = 0; i < 12; ++i) {
    Job job = OnePackEach("llama3-8b", gpus[random.Below(3)], int64_t{2} << random.Below(3),
                          trainers[random.Below(4)]);
    job.model.language_model.layers = 4 + static_cast<int64_t>(random.Below(29));
    job.constraints.context_parallel = {1, 2};
    const Plan separate = CheckedPlan(job), plan = CheckedPlan(Fused(job));
    EXPECT_TRUE(plan.fits() || !separate.fits() || separate.prediction.micro_batches > 1);
    if (!plan.fits()) continue;
    ++fit;
    for (const int64_t tensor : {1, 2, 4}) {
      Job pinned = Fused(job);
      pinned.constraints.tensor_parallel = {tensor, tensor};
      if (job.cluster.gpu_count % tensor != 0) continue;
      if (tensor > 1 && !job.training.trainer->tensor_parallel) continue;
      const Plan alone = CheckedPlan(pinned);
      if (alone.fits()) {
        EXPECT_LE(plan.prediction.gpu_days, alone.prediction.gpu_days * (1 + 1e-9));
      }
    }
  }
  EXPECT_GT(fit, 5);
}

}  // namespace
}  // namespace evenkeel::planner
