// Tests plans with packing groups through MakePlan.
#include "planner/groups/grouped_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "planner/base/random.h"
#include "planner/candidates/parallelisms.h"
#include "planner/check/group_checker.h"
#include "planner/make_plan.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/planner/long_mix.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

const LongMix& SmallMix() {
  static const LongMix mix = MakeLongMix({.short_samples = 46'967, .long_samples = 100});
  return mix;
}

TEST(GroupedPlanTest, IsSoundUnderEveryKindOfTrainer) {
  for (const GroupSelection selection : {GroupSelection::kPublished, GroupSelection::kExact}) {
    Job deepspeed = HbpJob("llama3-8b", ZeroStage::kOptimizer, SmallMix());
    deepspeed.training.group_selection = selection;
    Job megatron = TextJob("llama3-8b", "h100-sxm-80gb", 32);
    megatron.dataset = deepspeed.dataset;
    megatron.training.group_selection = selection;
    megatron.constraints.context_parallel = megatron.constraints.virtual_stages = {1, 0};
    Job pipeline = TextJob("qwen2.5-14b", "a100-sxm-80gb", 32);
    pipeline.dataset = deepspeed.dataset;
    pipeline.training.group_selection = selection;
    pipeline.constraints.context_parallel = {1, 0};
    pipeline.constraints.pipeline_parallel = {2, 4};
    for (const Job& job : {deepspeed, megatron, pipeline}) {
      const PlanResult result = MakePlan(job, {});
      ASSERT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
      const Plan& plan = result.plan;
      ASSERT_TRUE(plan.fits());
      ASSERT_TRUE(plan.grouping);
      ASSERT_GE(plan.grouping->groups.size(), 2u);
      EXPECT_EQ(plan.parallelism, plan.grouping->groups.back().parallelism);
      EXPECT_LE(plan.proof.lower_bound_ns, plan.proof.step_ns);
      const GroupChoice& choice = plan.grouping->choice;
      const BatchingBaseline& own = choice.baselines.back();
      EXPECT_EQ(own.method, BatchingMethod::kBalancedGroups);
      EXPECT_NEAR(own.gpu_days, plan.prediction.gpu_days, .01 * plan.prediction.gpu_days);
      EXPECT_EQ(own.communication_ratio, choice.communication_ratio);
      EXPECT_EQ(own.mean_rank_tokens, choice.mean_rank_tokens);
      EXPECT_GT(choice.curriculum_steps, 0);
    }
  }
}

TEST(GroupedPlanTest, IsTheSameEveryTime) {
  const Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, SmallMix());
  const Plan a = MakePlan(job, {}).plan, b = MakePlan(job, {}).plan;
  EXPECT_EQ(a.prediction.epoch_seconds, b.prediction.epoch_seconds);
  EXPECT_EQ(a.grouping.value().groups.front().packs, b.grouping.value().groups.front().packs);
}

TEST(GroupedPlanTest, ExactIsNoSlowerThanThePublishedRuleOrOneGroup) {
  Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, SmallMix());
  const Plan published = MakePlan(job, {}).plan;
  job.training.group_selection = GroupSelection::kExact;
  const Plan exact = MakePlan(job, {}).plan;
  job.training.group_selection = GroupSelection::kOne;
  const Plan one = MakePlan(job, {}).plan;
  EXPECT_LE(exact.prediction.gpu_days, published.prediction.gpu_days);
  EXPECT_LE(exact.prediction.gpu_days, one.prediction.gpu_days);
  const GroupChoice& choice = exact.grouping.value().choice;
  EXPECT_LE(choice.exact.gpu_days, choice.published.gpu_days);
}

TEST(GroupedPlanTest, SamplesOfOneLengthNeedNoGroups) {
  Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, SmallMix());
  job.dataset = {.bins = {{0, 32768, 1000}}};
  job.training.global_batch_samples = 16;
  const Plan plan = MakePlan(job, {}).plan;
  EXPECT_TRUE(plan.fits());
  EXPECT_FALSE(plan.grouping);
}

// With a batch of 32 samples, most splits of these GPUs would train on many times as many.
TEST(GroupedPlanTest, GroupsKeepTheBatch) {
  for (const char* model : {"qwen3-30b-a3b", "mixtral-8x7b"}) {
    Job job = TextJob(model, "b200-sxm-180gb", 64);
    job.training.trainer = FindTrainer("megatron-deepspeed");
    job.training.execution = DefaultExecution(*job.training.trainer, job.training.zero_stage);
    job.dataset = HbpJob("llama3-8b", ZeroStage::kOptimizer, SmallMix()).dataset;
    job.constraints.context_parallel = {1, 0};
    job.training.group_selection = GroupSelection::kExact;
    job.training.global_batch_samples = 32;
    const Plan plan = CheckedPlan(job);
    Job one = job;
    one.training.group_selection = GroupSelection::kOne;
    const auto error = [](const Plan& of) {
      return std::abs(of.prediction.samples_per_step / 32 - 1);
    };
    EXPECT_LE(error(plan), std::max(.25, error(CheckedPlan(one)) + .02)) << model;
  }
}

TEST(GroupedPlanTest, AMixedJobIsPlannedTheSameWay) {
  Job job = VisionJob("internvit-6b-448px-v1.5", "internlm2-20b", "h100-sxm-80gb", 64);
  job.constraints.context_parallel = {1, 0};
  job.dataset.bins.push_back({0, 60000, 300});
  job.dataset.bins.push_back({120, 40000, 100});
  job.training.group_selection = GroupSelection::kExact;
  const PlanResult result = MakePlan(job, {});
  ASSERT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
  EXPECT_TRUE(result.plan.fits());
  ASSERT_TRUE(result.plan.grouping);
  ASSERT_GE(result.plan.grouping->groups.size(), 2u);
  EXPECT_GT(result.plan.grouping->groups.front().unit_cap, 0);
}

TEST(GroupedPlanTest, LatentAttentionAndExpertsAreInTimeAndMemory) {
  Job job = TextJob("deepseek-v2-236b", "h100-sxm-80gb", 256);
  job.cluster.inter_node_bytes_per_second = 50e9;
  job.dataset = HbpJob("llama3-8b", ZeroStage::kOptimizer, SmallMix()).dataset;
  job.constraints.context_parallel = job.constraints.expert_parallel = {1, 0};
  job.training.group_selection = GroupSelection::kExact;
  job.training.global_batch_samples = 4000;
  const PlanResult result = MakePlan(job, {});
  ASSERT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
  ASSERT_TRUE(result.plan.fits());
  ASSERT_TRUE(result.plan.grouping);
  ASSERT_GE(result.plan.grouping->groups.size(), 2u);
  EXPECT_GT(result.plan.parallelism.expert, 1);
}

// The epoch has more nanoseconds than 64 bits hold.
TEST(GroupedPlanTest, TheLongestEpochsAreTheSumOfTheirSteps) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.dataset = {.bins = {{0, 49'771, 500'000'000'000}, {0, 210'368, 4374}}};
  job.training.group_selection = GroupSelection::kPublished;
  const PlanResult result = MakePlan(WholeSpace(job), {});
  ASSERT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
  const Prediction& p = result.plan.prediction;
  EXPECT_GT(p.epoch_seconds, 9.3e9);
  EXPECT_NEAR(p.epoch_seconds * 8 / 86400 / p.gpu_days, 1, 1e-9);
}

// Returns a job with a few long samples among very many short ones.
Job UnevenJob() {
  Job job = TextJob("mpt-30b", "h100-sxm-80gb", 15);
  job.model.language_model.train = TrainMode::kLora;
  job.cluster.gpus_per_node = job.cluster.gpus_per_full_node = 5;
  job.dataset.bins = {{0, 1, 13417}, {0, 6, 93781},  {0, 12, 1},    {0, 17, 61},     {0, 26, 877},
                      {0, 31, 389},  {0, 41, 10},    {0, 60, 48},   {0, 78, 2},      {0, 312, 107},
                      {0, 2171, 9},  {0, 5273, 36},  {0, 12269, 2}, {0, 15257, 520}, {0, 21342, 4},
                      {0, 23104, 8}, {0, 31495, 179}};
  job.dataset.is_default = false;
  job.training.seed = 1;
  job.training.group_selection = GroupSelection::kExact;
  return WholeSpace(job);
}

TEST(GroupedPlanTest, EverySampleBelongsToAGroup) {
  for (const GroupSelection selection : {GroupSelection::kPublished, GroupSelection::kExact}) {
    Job job = UnevenJob();
    job.training.group_selection = selection;
    const PlanResult result = MakePlan(job, {});
    ASSERT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
    int64_t samples = 0, in_groups = 0;
    for (const LengthBin& bin : job.dataset.bins) samples += bin.count;
    if (!result.plan.grouping) continue;
    for (const GroupPlan& group : result.plan.grouping->groups) {
      in_groups += group.samples;
      EXPECT_GE(group.idle_ratio, 0);
    }
    EXPECT_EQ(in_groups, samples);
  }
}

// The bound holds for whatever part of the space the constraints leave.
TEST(GroupedPlanTest, NoPinnedSplitLiesBelowTheBound) {
  Random random(7);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random.Below(n)); };
  constexpr const char* kModels[] = {"llama3-8b", "qwen2.5-14b", "mixtral-8x7b"};
  int grouped = 0, pinned = 0;
  for (int run = 0; run < 4; ++run) {
    Job job = TextJob(kModels[below(3)], "h100-sxm-80gb", int64_t{8} << below(2));
    job.dataset = {};
    for (int64_t tokens = 100 + below(2000), n = 0; n < 6; ++n, tokens *= 2 + below(2))
      job.dataset.bins.push_back({0, tokens, 100'000 / (1 + n * n * n) + below(100)});
    job.training.global_batch_samples = 64 + below(512);
    job.training.group_selection =
        below(2) == 0 ? GroupSelection::kPublished : GroupSelection::kExact;
    job = WholeSpace(job);
    const PlanResult free = MakePlan(job, {});
    ASSERT_EQ(free.end, PlanEnd::kComplete)
        << run << ": " << (free.faults.empty() ? "" : free.faults[0]);
    if (!free.plan.grouping || free.plan.proof.lower_bound_ns == 0) continue;
    ++grouped;
    for (const int64_t tensor : {1, 4}) {
      for (const int64_t pipeline : {1, 2}) {
        for (const int64_t context : {int64_t{0}, int64_t{1}, int64_t{2}}) {
          Job held = job;
          held.constraints.tensor_parallel = {tensor, tensor};
          held.constraints.pipeline_parallel = {pipeline, pipeline};
          if (context > 0) held.constraints.context_parallel = {context, context};
          if (Parallelisms(held, 1).empty()) continue;
          const LengthClasses classes(held);
          const GroupedSearchResult found = SearchGroups(held, classes, {});
          if (found.runs.size() < 2) continue;
          Plan plan;
          FillGroupedPlan(held, classes, found, {}, &plan);
          ++pinned;
          EXPECT_GE(plan.proof.step_ns, free.plan.proof.lower_bound_ns)
              << run << ": TP " << tensor << " PP " << pipeline << " CP " << context;
        }
      }
    }
  }
  EXPECT_GE(grouped, 2);
  EXPECT_GE(pinned, 10);
}

struct PlantedGroupFault {
  const char* what;
  std::function<void(Plan&)> fault;
};

TEST(GroupCheckerTest, SeesPlantedFaults) {
  const Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, SmallMix());
  const LengthClasses classes(job);
  const GroupedSearchResult found = SearchGroups(job, classes, {});
  ASSERT_EQ(found.runs.size(), 2u);
  Plan good;
  FillGroupedPlan(job, classes, found, {}, &good);
  std::vector<const Batching*> batchings;
  for (const GroupRun& run : found.runs) batchings.push_back(&run.data.batching);
  ASSERT_EQ(CheckGroupedPlan(job, batchings, good), std::vector<std::string>{});
  const PlantedGroupFault faults[] = {
      {"no groups", [](Plan& p) { p.grouping.reset(); }},
      {"a group is missing", [](Plan& p) { p.grouping->groups.pop_back(); }},
      {"order", [](Plan& p) { std::swap(p.grouping->groups[0], p.grouping->groups[1]); }},
      {"degree", [](Plan& p) { p.grouping->groups[0].parallelism.context *= 2; }},
      {"steps", [](Plan& p) { ++p.grouping->groups[0].steps; }},
      {"a hole in a long group", [](Plan& p) { --p.grouping->groups[1].packs; }},
      {"packs left out",
       [](Plan& p) {
         p.grouping->groups[0].packs -= 32 * 100, p.grouping->groups[0].steps -= 100;
       }},
      {"recompute", [](Plan& p) { p.grouping->groups[1].stages[0].layers[1].recomputed.clear(); }},
      {"memory", [](Plan& p) { p.grouping->groups[0].stages[0].memory.activations /= 2; }},
      {"longest sample", [](Plan& p) { p.grouping->groups[1].longest_sample = 100000; }},
      {"sample above its cap", [](Plan& p) { p.grouping->groups[0].token_cap = 8192; }},
      {"step time", [](Plan& p) { p.grouping->groups[0].step.total_ns -= 1000; }},
      {"epoch", [](Plan& p) { p.prediction.epoch_seconds /= 2; }},
      {"GPU-days", [](Plan& p) { p.prediction.gpu_days *= 1.01; }},
      {"mean step", [](Plan& p) { p.prediction.step.total_ns *= 2; }},
      {"CR", [](Plan& p) { p.grouping->choice.communication_ratio = 0; }},
      {"a sample too many", [](Plan& p) { ++p.grouping->groups[0].samples; }},
      {"a sample lost", [](Plan& p) { --p.grouping->groups[1].samples; }},
      {"idle below 0", [](Plan& p) { p.grouping->groups[0].idle_ratio = -1e-16; }},
      {"gap", [](Plan& p) { p.proof.gap += .1; }},
      {"end of the search", [](Plan& p) { p.proof.parallelisms_unsearched = 1; }},
      {"a bound just above the plan",
       [](Plan& p) {
         p.proof.lower_bound_ns = p.proof.step_ns + 1;
         p.proof.gap =
             static_cast<double>(p.proof.step_ns) / static_cast<double>(p.proof.lower_bound_ns) - 1;
       }},
      {"bound", [](Plan& p) { p.proof.lower_bound_ns = 2 * p.proof.step_ns; }},
  };
  for (const PlantedGroupFault& planted : faults) {
    Plan plan = good;
    planted.fault(plan);
    EXPECT_FALSE(CheckGroupedPlan(job, batchings, plan).empty()) << planted.what;
  }
}

}  // namespace
}  // namespace evenkeel::planner
