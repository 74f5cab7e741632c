// Plans for padded micro-batches: against packs, against every plan of a small space, and as the
// checker judges them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "planner/check/plan_checker.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Job PaddedJob(int64_t samples, int64_t gpus = 8) {
  Job job = TextJob("qwen2-1.5b", "a100-sxm-80gb", gpus);
  job.dataset.bins = {
      {0, 100, 5000}, {0, 300, 3000}, {0, 800, 1500}, {0, 2000, 400}, {0, 6000, 100}};
  job.training.micro_batch_samples = samples;
  return job;
}

PlanResult Planned(const Job& job) {
  PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete)
      << (result.faults.empty() ? std::string() : result.faults.front());
  return result;
}

int64_t MostActivations(const Plan& plan) {
  int64_t most = 0;
  for (const StagePlan& stage : plan.stages) most = std::max(most, stage.memory.activations);
  return most;
}

TEST(PaddedPlanTest, PackingGainsWhatPaddingWastes) {
  const Plan plan = Planned(PaddedJob(4)).plan;
  ASSERT_TRUE(plan.fits());
  ASSERT_TRUE(plan.padded && plan.padded->packed);
  EXPECT_GT(plan.batch_rule.pad_ratio, 0.5);
  EXPECT_GT(plan.padded->packing_gain, 0.67);
  EXPECT_GT(plan.padded->slowest_rank_ratio, 1);
  EXPECT_EQ(plan.prediction.samples_per_step, 512);
  Job packed = PaddedJob(4);
  packed.training.micro_batch_samples = 0;
  const Plan packs = Planned(packed).plan;
  EXPECT_FALSE(packs.padded);
  EXPECT_LT(plan.prediction.mfu, packs.prediction.mfu) << "only real tokens count";
  EXPECT_NEAR(plan.padded->packed->gpu_days, packs.prediction.gpu_days,
              0.1 * packs.prediction.gpu_days);
  for (const LadderRung& rung : plan.ladder) EXPECT_NE(rung.name, "+ data balance");
}

TEST(PaddedPlanTest, EqualSamplesArePacksOfOneSample) {
  Job padded = TextJob("qwen2-1.5b", "a100-sxm-80gb", 8), packed = padded;
  padded.training.micro_batch_samples = 1;
  packed.training.token_cap = 4096;
  const Plan one = Planned(padded).plan, other = Planned(packed).plan;
  EXPECT_EQ(one.prediction.step.total_ns, other.prediction.step.total_ns);
  EXPECT_EQ(one.stages.front().memory.total(), other.stages.front().memory.total());
  EXPECT_EQ(one.prediction.mfu, other.prediction.mfu);
  EXPECT_EQ(one.batch_rule.pad_ratio, 0);
  EXPECT_EQ(one.proof.lower_bound_ns, other.proof.lower_bound_ns);
}

TEST(PaddedPlanTest, MemoryIsThatOfTheLongestRow) {
  Job job = PaddedJob(2);
  FixDegrees(job, 1, 1, 8);
  job.constraints.recompute = RecomputePolicy::kForbidden;
  const Plan two = Planned(job).plan;
  job.training.pad_to_tokens = 6000;
  const Plan fixed = Planned(job).plan;
  EXPECT_EQ(MostActivations(two), MostActivations(fixed)) << "any micro-batch may have it";
  EXPECT_GT(fixed.prediction.step.total_ns, 2 * two.prediction.step.total_ns);
  EXPECT_LT(fixed.prediction.mfu, two.prediction.mfu);
  EXPECT_DOUBLE_EQ(fixed.padded->slowest_rank_ratio, 1);
}

TEST(PaddedPlanTest, FewerSamplesAreTheRemedy) {
  Job job = PaddedJob(64, 1);
  job.dataset.bins.back().llm_tokens = 16384;
  const Plan plan = Planned(job).plan;
  ASSERT_TRUE(plan.misfit.has_value());
  const auto& remedies = plan.misfit->remedies;
  const auto fewer = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& r) {
    return r.kind == RemedyKind::kSmallerMicroBatch;
  });
  ASSERT_NE(fewer, remedies.end());
  job.training.micro_batch_samples = fewer->micro_batch_samples;
  EXPECT_TRUE(Planned(job).plan.fits());
  ++job.training.micro_batch_samples;
  EXPECT_FALSE(Planned(job).plan.fits()) << "no more samples fit";
}

// Plans every cut of a small model on every degree, each on its own.
TEST(PaddedPlanTest, NoPinnedPlanIsBetter) {
  Job job = PaddedJob(4, 4);
  job.model.language_model.layers = 5;
  job.model.language_model.runs.clear();
  job.training.global_batch_samples = 64;
  job.constraints.schedule = Schedule::kOneFOneB;
  job.constraints.context_parallel = {1, 1};
  const PlanResult best = Planned(job);
  ASSERT_TRUE(best.plan.fits());
  int planned = 0;
  const auto compare = [&](Job pinned) {
    const PlanResult one = Planned(pinned);
    if (!one.plan.fits()) return;
    ++planned;
    EXPECT_GE(one.plan.proof.step_ns, best.plan.proof.lower_bound_ns);
    EXPECT_GE(one.plan.prediction.gpu_days, 0.99 * best.plan.prediction.gpu_days);
  };
  for (const int64_t tensor : {1, 2, 4}) {
    for (const int64_t pipeline : {1, 2, 4}) {
      if (4 % (tensor * pipeline) != 0) continue;
      Job pinned = job;
      FixDegrees(pinned, tensor, pipeline, 4 / tensor / pipeline);
      if (pipeline == 1) compare(pinned);
      if (pipeline == 2) {
        for (int64_t first = 1; first < 5; ++first) {
          pinned.constraints.stage_layers = {first, 5 - first};
          compare(pinned);
        }
      } else if (pipeline == 4) {
        for (size_t two = 0; two < 4; ++two) {
          pinned.constraints.stage_layers = {1, 1, 1, 1};
          ++pinned.constraints.stage_layers[two];
          compare(pinned);
        }
      }
    }
  }
  EXPECT_GE(planned, 10);
}

TEST(PaddedPlanTest, EvaluatedAsPlanned) {
  const Job job = PaddedJob(4);
  const Plan plan = Planned(job).plan;
  const Evaluation found = EvaluatePlan(job, SpecOf(plan));
  ASSERT_TRUE(found.faults.empty());
  EXPECT_EQ(found.plan.prediction.step.total_ns, plan.prediction.step.total_ns);
  ASSERT_TRUE(found.plan.padded.has_value());
  EXPECT_EQ(found.plan.padded->slowest_rank_ratio, plan.padded->slowest_rank_ratio);
  EXPECT_FALSE(found.plan.padded->packed.has_value());
}

TEST(PaddedPlanTest, TheCheckerFindsPlantedFaults) {
  const Job job = PaddedJob(4);
  const Batching batching = MakeBatching(job);
  const Plan plan = Planned(job).plan;
  EXPECT_TRUE(CheckPlan(job, batching, plan).empty());
  const std::vector<std::function<void(Plan&)>> faults = {
      [](Plan& p) { p.padded.reset(); },
      [](Plan& p) { p.padded->mean_row_tokens *= 1.01; },
      [](Plan& p) { ++p.padded->longest_row_tokens; },
      [](Plan& p) { p.padded->slowest_rank_ratio = 0.9; },
      [](Plan& p) { p.padded->packing_gain /= 2; },
      [](Plan& p) { p.batch_rule.pad_ratio *= 0.9; },
      [](Plan& p) { p.batch_rule.token_cap -= 4; },
      [](Plan& p) { p.batch_rule.samples_per_pack = 5; },
      [](Plan& p) { p.batch_rule.mean_tokens *= 0.99, p.padded->mean_row_tokens *= 0.99; },
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    Plan bad = plan;
    faults[i](bad);
    EXPECT_FALSE(CheckPlan(job, batching, bad).empty()) << i;
  }
}

TEST(PaddedPlanTest, ModelsWithEncodersAndEverySchedule) {
  for (const Schedule schedule :
       {Schedule::kOneFOneB, Schedule::kGPipe, Schedule::kInterleaved, Schedule::kZeroBubble}) {
    Job job = VisionJob("internvit-300m", "qwen2-7b", "a100-sxm-80gb", 16);
    job.training.micro_batch_samples = 2;
    job.constraints.schedule = schedule;
    if (schedule == Schedule::kInterleaved) {
      job.constraints.virtual_stages = {2, 0};
      job.constraints.pipeline_parallel = {2, 4};
    }
    const Plan plan = Planned(job).plan;
    EXPECT_TRUE(plan.fits());
    EXPECT_GT(plan.batch_rule.pad_ratio, 0.05);
  }
}

Launch LaunchOf(const Plan& plan, LaunchFramework framework) {
  for (const Launch& launch : plan.launch)
    if (launch.framework == framework) return launch;
  return {};
}

TEST(PaddedPlanTest, TrainersAreToldTheSamples) {
  Job job = PaddedJob(4);
  FixDegrees(job, 1, 1, 8);
  job.launch.frameworks = {LaunchFramework::kMegatron, LaunchFramework::kDeepSpeed,
                           LaunchFramework::kTorchtitan, LaunchFramework::kXTuner,
                           LaunchFramework::kFsdp};
  const Plan plan = Planned(job).plan;
  const auto value_of = [](const Launch& launch, const std::string& name) {
    const auto& words = launch.arguments;
    const auto at = std::find(words.begin(), words.end(), name);
    return at == words.end() || at + 1 == words.end() ? std::string() : *(at + 1);
  };
  const Launch megatron = LaunchOf(plan, LaunchFramework::kMegatron);
  EXPECT_EQ(value_of(megatron, "--micro-batch-size"), "4");
  EXPECT_EQ(value_of(megatron, "--global-batch-size"), "512");
  EXPECT_EQ(value_of(megatron, "--seq-length"), "6000");
  const auto file = [&](LaunchFramework framework) {
    const Launch launch = LaunchOf(plan, framework);
    return launch.files.empty() ? std::string() : launch.files.front().content;
  };
  EXPECT_NE(file(LaunchFramework::kDeepSpeed).find("\"train_micro_batch_size_per_gpu\": 4"),
            std::string::npos);
  EXPECT_NE(file(LaunchFramework::kDeepSpeed).find("\"train_batch_size\": 512"), std::string::npos);
  EXPECT_NE(file(LaunchFramework::kTorchtitan).find("t.local_batch_size = 4"), std::string::npos);
  EXPECT_NE(file(LaunchFramework::kTorchtitan).find("t.seq_len = 6000"), std::string::npos);
  EXPECT_NE(file(LaunchFramework::kFsdp).find("SAMPLES = 4"), std::string::npos);
  EXPECT_EQ(LaunchOf(plan, LaunchFramework::kXTuner).match, LaunchMatch::kNone);
}

}  // namespace
}  // namespace evenkeel::planner
