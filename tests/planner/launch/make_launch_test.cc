#include "planner/launch/make_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr LaunchFramework kAll[] = {LaunchFramework::kMegatron,   LaunchFramework::kDeepSpeed,
                                    LaunchFramework::kTorchtitan, LaunchFramework::kFlagScale,
                                    LaunchFramework::kXTuner,     LaunchFramework::kFsdp};

Plan PlanOf(Job job, const std::vector<LaunchFramework>& frameworks) {
  job.launch.frameworks = frameworks;
  PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  EXPECT_TRUE(result.plan.fits);
  EXPECT_EQ(result.plan.launch.size(), frameworks.size());
  return std::move(result.plan);
}

Plan PlanOf(const Job& job) { return PlanOf(job, {std::begin(kAll), std::end(kAll)}); }

const Launch& Of(const Plan& plan, LaunchFramework framework) {
  for (const Launch& launch : plan.launch) {
    if (launch.framework == framework) return launch;
  }
  ADD_FAILURE() << "no such launch";
  return plan.launch.front();
}

std::string Value(const Launch& launch, const std::string& option) {
  const auto at = std::find(launch.arguments.begin(), launch.arguments.end(), option);
  return at == launch.arguments.end() || at + 1 == launch.arguments.end() ? "" : *(at + 1);
}

bool Has(const Launch& launch, const std::string& topic) {
  return std::any_of(launch.notes.begin(), launch.notes.end(),
                     [&](const LaunchNote& note) { return note.topic == topic; });
}

Job TightJob() {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  FixDegrees(job, 1, 4, 2);
  job.training.token_cap = 8192;
  job.training.global_batch_samples = 64;
  return job;
}

// Every setting that Megatron-LM has for a dense model, tried without the emitter's shortcuts.
int64_t BestOfAllSettings(const Job& job, const Plan& plan) {
  Job given = job;
  given.training.unit_cap = plan.batch_rule.unit_cap;
  given.training.token_cap = plan.batch_rule.token_cap;
  int64_t best = 0;
  const auto look = [&](const PlanSpec& spec) {
    const Evaluation found = EvaluatePlan(given, spec);
    const int64_t step = found.plan.prediction.step.total_ns;
    if (found.plan.fits && (best == 0 || step < best)) best = step;
  };
  const auto with = [&](RecomputeParts parts, int64_t layers) {
    PlanSpec spec = SpecOf(plan);
    for (ChunkSpec& chunk : spec.chunks) {
      for (LayerGroup& group : chunk.layers) {
        group.recomputed.clear();
        if (IsTransformerLayer(group.kind) && layers > 0)
          group.recomputed = {{parts, std::min(layers, group.count)}};
      }
    }
    return spec;
  };
  look(with(0, 0));
  for (const RecomputeParts parts : {+kNorms, +kMlp, kNorms | kMlp}) look(with(parts, 1000));
  for (int64_t layers = 1; layers <= job.model.language_model.layers; ++layers)
    look(with(kWholeLayer, layers));
  return best;
}

TEST(MakeLaunchTest, NothingIsMadeUnasked) {
  const Job job = TightJob();
  EXPECT_TRUE(PlanOf(job, {}).launch.empty());
}

TEST(MakeLaunchTest, MegatronGetsTheBestSettingOfAll) {
  Job job = TightJob();
  for (const int64_t cap : {4096, 8192, 16384}) {
    job.training.token_cap = cap;
    const Plan plan = PlanOf(job);
    const Launch& launch = Of(plan, LaunchFramework::kMegatron);
    ASSERT_NE(launch.match, LaunchMatch::kNone) << cap;
    EXPECT_EQ(launch.step_ns, BestOfAllSettings(job, plan)) << cap;
    EXPECT_GT(launch.fitting, 0);
    EXPECT_LE(launch.fitting, launch.tried);
    // What each stage may choose for itself is never worse.
    EXPECT_LE(Of(plan, LaunchFramework::kFlagScale).step_ns, launch.step_ns) << cap;
  }
}

TEST(MakeLaunchTest, WhatIsLostIsSaid) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  job.constraints.stage_layers = {5, 9, 9, 9};
  const Plan plan = PlanOf(job, {LaunchFramework::kMegatron});
  const Launch& launch = plan.launch.front();
  ASSERT_EQ(launch.match, LaunchMatch::kNearest);
  EXPECT_GT(launch.slower_by, 0);
  EXPECT_TRUE(Has(launch, "recompute"));
  EXPECT_EQ(launch.stages.size(), 4U);
  for (const StagePlan& stage : launch.stages) EXPECT_GE(stage.free_bytes(), 0);
  const double ratio =
      static_cast<double>(launch.step_ns) / static_cast<double>(plan.prediction.step.total_ns) - 1;
  EXPECT_NEAR(launch.slower_by, ratio, 1e-9);
}

TEST(MakeLaunchTest, APlanThatNeedsNothingElseIsExact) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  FixDegrees(job, 2, 2, 2);
  job.constraints.recompute = RecomputePolicy::kFull;
  const Plan plan = PlanOf(job);
  for (const LaunchFramework framework :
       {LaunchFramework::kMegatron, LaunchFramework::kFlagScale, LaunchFramework::kDeepSpeed,
        LaunchFramework::kTorchtitan}) {
    const Launch& launch = Of(plan, framework);
    EXPECT_EQ(launch.match, LaunchMatch::kExact);
    EXPECT_EQ(launch.slower_by, 0);
    EXPECT_TRUE(launch.stages.empty());
    EXPECT_EQ(launch.step_ns, plan.prediction.step.total_ns);
  }
  const Launch& megatron = Of(plan, LaunchFramework::kMegatron);
  EXPECT_EQ(Value(megatron, "--recompute-method"), "uniform");
  EXPECT_EQ(Value(megatron, "--pipeline-model-parallel-layout").front(), 'E');
  EXPECT_EQ(Value(megatron, "--tensor-model-parallel-size"), "2");
}

TEST(MakeLaunchTest, AForbiddenRecomputeStaysForbidden) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  FixDegrees(job, 4, 2, 1);
  job.constraints.recompute = RecomputePolicy::kForbidden;
  const Plan plan = PlanOf(job);
  const Launch& launch = Of(plan, LaunchFramework::kMegatron);
  EXPECT_EQ(launch.tried, 1);
  EXPECT_EQ(Value(launch, "--recompute-granularity"), "");
}

TEST(MakeLaunchTest, TheEncoderStaysOnTheFirstStageWhereItMust) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  const Plan plan = PlanOf(
      job, {LaunchFramework::kMegatron, LaunchFramework::kDeepSpeed, LaunchFramework::kTorchtitan});
  for (const LaunchFramework framework :
       {LaunchFramework::kMegatron, LaunchFramework::kTorchtitan}) {
    const Launch& launch = Of(plan, framework);
    ASSERT_EQ(launch.match, LaunchMatch::kNearest);
    EXPECT_TRUE(Has(launch, "stages"));
    EXPECT_EQ(launch.parallelism, plan.parallelism);  // the job fixes the degrees
    for (size_t s = 1; s < launch.stages.size(); ++s) {
      for (const LayerGroup& group : launch.stages[s].layers)
        EXPECT_NE(group.kind, LayerKind::kEncoder);
    }
  }
  // DeepSpeed takes the encoder on any stage, and so loses less.
  EXPECT_LT(Of(plan, LaunchFramework::kDeepSpeed).slower_by,
            Of(plan, LaunchFramework::kTorchtitan).slower_by);
}

TEST(MakeLaunchTest, FreeDegreesMayChangeForTheEncoder) {
  const Plan plan = PlanOf(QuickstartJob(), {LaunchFramework::kMegatron});
  const Launch& launch = plan.launch.front();
  const Parallelism& p = launch.parallelism;
  EXPECT_EQ(p.tensor * p.pipeline * p.data * p.context, 32);
  EXPECT_LT(launch.slower_by, 1);
}

TEST(MakeLaunchTest, SchedulesThatATrainerLacksAreReplaced) {
  Job job = TightJob();
  job.training.token_cap = 4096;
  job.constraints.schedule = Schedule::kZeroBubble;
  const Plan plan = PlanOf(job, {LaunchFramework::kMegatron, LaunchFramework::kTorchtitan});
  for (const Launch& launch : plan.launch) {
    EXPECT_EQ(launch.match, LaunchMatch::kNearest);
    EXPECT_EQ(launch.schedule, Schedule::kOneFOneB);
    EXPECT_TRUE(Has(launch, "schedule"));
  }
}

TEST(MakeLaunchTest, TheSameJobGivesTheSameSettings) {
  const Plan a = PlanOf(TightJob()), b = PlanOf(TightJob());
  for (size_t i = 0; i < a.launch.size(); ++i) {
    EXPECT_EQ(a.launch[i].arguments, b.launch[i].arguments);
    ASSERT_EQ(a.launch[i].files.size(), b.launch[i].files.size());
    for (size_t f = 0; f < a.launch[i].files.size(); ++f)
      EXPECT_EQ(a.launch[i].files[f].content, b.launch[i].files[f].content);
  }
}

TEST(MakeLaunchTest, AStopEndsIt) {
  Job job = TightJob();
  job.launch.frameworks = {LaunchFramework::kMegatron, LaunchFramework::kFsdp};
  bool checked = false;
  const PlanHooks hooks{.stop = [&] { return checked; },
                        .enter = [&](Phase phase) { checked = phase == Phase::kCheck; }};
  EXPECT_EQ(MakePlan(job, hooks).end, PlanEnd::kStopped);
}

}  // namespace
}  // namespace evenkeel::planner
