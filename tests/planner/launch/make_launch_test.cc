#include "planner/launch/make_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/evaluate_plan.h"
#include "planner/launch/trials.h"
#include "planner/make_plan.h"
#include "planner/packing/batch_rule.h"
#include "planner/space/trainer_recompute.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

constexpr LaunchFramework kAll[] = {LaunchFramework::kMegatron,   LaunchFramework::kDeepSpeed,
                                    LaunchFramework::kTorchtitan, LaunchFramework::kFlagScale,
                                    LaunchFramework::kXTuner,     LaunchFramework::kFsdp};

Plan PlanOf(Job job, const std::vector<LaunchFramework>& frameworks) {
  job.launch.frameworks = frameworks;
  PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  EXPECT_TRUE(result.plan.fits());
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

std::string File(const Launch& launch) {
  return launch.files.empty() ? "" : launch.files.back().content;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
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

// Returns the best step over every setting that Megatron-LM has for a dense model. Tries them
// without the emitter's shortcuts.
int64_t BestOfAllSettings(const Job& job, const Plan& plan) {
  Job given = job;
  given.training.unit_cap = plan.batch_rule.unit_cap;
  given.training.token_cap = plan.batch_rule.token_cap;
  int64_t best = 0;
  const auto look = [&](const PlanSpec& spec) {
    const Evaluation found = EvaluatePlan(given, spec);
    const int64_t step = found.plan.prediction.step.total_ns;
    if (found.plan.fits() && (best == 0 || step < best)) best = step;
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
    // The choice per stage is never worse.
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

TEST(MakeLaunchTest, NothingIsLostOfAPlanUnderOneSetting) {
  Job job = TightJob();
  job.constraints.recompute = RecomputePolicy::kOneSetting;
  int64_t recomputed = 0;
  for (const int64_t cap : {4096, 8192, 12288, 16384}) {
    job.training.token_cap = cap;
    const Plan plan = PlanOf(job, {LaunchFramework::kMegatron});
    const Launch& launch = plan.launch.front();
    EXPECT_EQ(launch.match, LaunchMatch::kExact) << cap;
    EXPECT_EQ(launch.slower_by, 0) << cap;
    if (Value(launch, "--recompute-granularity") != "") ++recomputed;
  }
  EXPECT_GE(recomputed, 1);
}

TEST(MakeLaunchTest, APlanThatNeedsNothingElseIsExact) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  FixDegrees(job, 2, 2, 2);
  job.constraints.recompute = RecomputePolicy::kFull;
  for (const auto& [framework, trainer] : {std::pair(LaunchFramework::kMegatron, "megatron-core"),
                                           {LaunchFramework::kFlagScale, "megatron-core"},
                                           {LaunchFramework::kDeepSpeed, "megatron-deepspeed"},
                                           {LaunchFramework::kTorchtitan, "megatron-core"}}) {
    job.training.trainer = FindTrainer(trainer);
    const Plan plan = PlanOf(job, {framework});
    const Launch& launch = plan.launch.front();
    EXPECT_EQ(launch.match, LaunchMatch::kExact);
    EXPECT_EQ(launch.slower_by, 0);
    EXPECT_TRUE(launch.stages.empty());
    EXPECT_EQ(launch.step_ns, plan.prediction.step.total_ns);
    if (framework != LaunchFramework::kMegatron) continue;
    EXPECT_EQ(Value(launch, "--recompute-method"), "uniform");
    EXPECT_EQ(Value(launch, "--pipeline-model-parallel-layout").front(), 'E');
    EXPECT_EQ(Value(launch, "--tensor-model-parallel-size"), "2");
  }
}

// Returns the job with the trainer's defaults and limits, like the conversion of a request.
struct Home {
  LaunchFramework framework;
  std::string_view trainer;
};
constexpr Home kHomes[] = {{LaunchFramework::kMegatron, "megatron-core"},
                           {LaunchFramework::kMegatron, "megatron-bridge"},
                           {LaunchFramework::kFlagScale, "megatron-core"},
                           {LaunchFramework::kDeepSpeed, "deepspeed"},
                           {LaunchFramework::kDeepSpeed, "megatron-deepspeed"},
                           {LaunchFramework::kFsdp, "pytorch-fsdp"},
                           {LaunchFramework::kDeepSpeed, "huggingface-trainer"},
                           {LaunchFramework::kFsdp, "llm-foundry"},
                           {LaunchFramework::kTorchtitan, "torchtitan"},
                           {LaunchFramework::kFsdp, "fsdp"},
                           {LaunchFramework::kTorchtitan, "torchtune"},
                           {LaunchFramework::kXTuner, "xtuner"}};

TEST(MakeLaunchTest, ATrainerLosesNothingOfItsPlans) {
  int64_t recomputed = 0, pipelines = 0;
  for (const Home& home : kHomes) {
    std::vector<Job> jobs = {WholeSpace(QuickstartJob()),
                             WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", 8)),
                             WholeSpace(TextJob("llama3-70b", "h100-sxm-80gb", 64)),
                             WholeSpace(TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 16))};
    jobs.push_back(jobs[1]);
    jobs.back().training.token_cap = 16384;
    for (const Job& job : jobs) {
      Job asked = TrainedBy(job, home.trainer);
      asked.launch.frameworks = {home.framework};
      const Plan plan = MakePlan(asked, {}).plan;
      if (!plan.fits()) continue;
      const Launch& launch = plan.launch.front();
      EXPECT_EQ(launch.match, LaunchMatch::kExact) << home.trainer << " " << job.model.name;
      EXPECT_EQ(launch.slower_by, 0) << home.trainer << " " << job.model.name;
      for (const LaunchNote& note : launch.notes)
        EXPECT_EQ(note.slower_by, 0) << home.trainer << ": " << note.text;
      if (plan.parallelism.pipeline > 1) ++pipelines;
      if (RecomputesAnything(SpecOf(plan))) ++recomputed;
    }
  }
  EXPECT_GE(recomputed, 15);
  EXPECT_GE(pipelines, 8);
}

TEST(MakeLaunchTest, AnotherTrainerIsPlannedFor) {
  Job job = WholeSpace(TextJob("llama3-8b", "a100-sxm-80gb", 16));
  job.training.token_cap = 8192;
  job.constraints.recompute = RecomputePolicy::kOneSetting;
  job.launch.frameworks = {LaunchFramework::kMegatron, LaunchFramework::kDeepSpeed,
                           LaunchFramework::kTorchtitan, LaunchFramework::kFsdp};
  for (const bool slow_kernels : {false, true}) {
    if (slow_kernels) job.training.execution.kernel_rate = 0.5;
    const Plan plan = MakePlan(job, {}).plan;
    EXPECT_EQ(Of(plan, LaunchFramework::kMegatron).match, LaunchMatch::kExact);
    for (const Home& home : {Home{LaunchFramework::kDeepSpeed, "megatron-deepspeed"},
                             {LaunchFramework::kTorchtitan, "torchtitan"},
                             {LaunchFramework::kFsdp, "pytorch-fsdp"}}) {
      const Launch& launch = Of(plan, home.framework);
      ASSERT_EQ(launch.match, LaunchMatch::kNearest);
      EXPECT_EQ(launch.notes.front().topic, "trainer");
      // The job's own settings are kept.
      Job other = TrainedBy(job, home.trainer);
      if (slow_kernels) other.training.execution.kernel_rate = 0.5;
      other.launch.frameworks.clear();
      const Plan own = MakePlan(other, {}).plan;
      EXPECT_EQ(launch.parallelism, own.parallelism) << home.trainer;
      EXPECT_EQ(launch.step_ns, own.prediction.step.total_ns) << home.trainer;
      EXPECT_EQ(launch.stages.size(), own.stages.size());
    }
  }
}

TEST(MakeLaunchTest, SaysWhoseTimesAPlanHasThatItDoesNotPlanAnew) {
  Job job = TrainedBy(TextJob("llama3-8b", "a100-sxm-80gb", 16), "megatron-core");
  FixDegrees(job, 2, 4, 2);  // torchtitan's record has no pipeline
  const Plan plan = PlanOf(job, {LaunchFramework::kMegatron, LaunchFramework::kTorchtitan});
  EXPECT_FALSE(Has(Of(plan, LaunchFramework::kMegatron), "trainer"));
  const Launch& launch = Of(plan, LaunchFramework::kTorchtitan);
  ASSERT_EQ(launch.match, LaunchMatch::kExact);
  EXPECT_EQ(launch.notes.front().topic, "trainer");
  EXPECT_NE(launch.notes.front().text.find("not of torchtitan"), std::string::npos);
}

// A caller's plan is translated, whatever the job's trainer is.
Plan Translated(Job job, const std::vector<LaunchFramework>& frameworks) {
  Plan plan = MakePlan(job, {}).plan;
  job.launch.frameworks = frameworks;
  job.training.unit_cap = plan.batch_rule.unit_cap;
  job.training.token_cap = plan.batch_rule.token_cap;
  plan.launch = MakeLaunch(job, MakeBatching(job), plan, LaunchedPlan::kCallers, {});
  return plan;
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
  const Plan plan = Translated(
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
  // DeepSpeed accepts the encoder on any stage, and so loses less.
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

// Returns a job with a pipeline whose first stage lacks memory, so that each stage recomputes only
// the layers that it must.
Job UnevenStagesJob() {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  job.constraints.stage_layers = {5, 9, 9, 9};
  job.constraints.recompute = RecomputePolicy::kWholeLayers;
  return job;
}

// FlagScale reads values per stage only together with a process mesh
// (flagscale/train/arguments.py).
TEST(MakeLaunchTest, ValuesPerStageComeWithAProcessMesh) {
  const Plan plan = PlanOf(UnevenStagesJob(), {LaunchFramework::kFlagScale});
  const Launch& launch = plan.launch.front();
  ASSERT_NE(Value(launch, "--recompute-num-layers-per-stage-micro-batch"), "");
  const auto at =
      std::find(launch.arguments.begin(), launch.arguments.end(), "--hetero-process-meshes");
  ASSERT_GE(launch.arguments.end() - at, 6);
  const Parallelism& p = plan.parallelism;
  EXPECT_EQ(
      std::vector<std::string>(at + 1, at + 6),
      (std::vector<std::string>{std::to_string(p.tensor), "1", "1", std::to_string(p.data), "4"}));
  EXPECT_EQ(Value(launch, "--hetero-device-types"), "a100-sxm-80gb");
  EXPECT_EQ(Value(launch, "--hetero-current-device-type"), "a100-sxm-80gb");
  EXPECT_EQ(Value(launch, "--enable-hetero"), "");
}

TEST(MakeLaunchTest, MegatronFsdpHasTheOneCheckpointFormatThatItTakes) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  job.training.zero_stage = ZeroStage::kGradients;
  const Plan plan = PlanOf(job, {LaunchFramework::kMegatron});
  EXPECT_EQ(Value(plan.launch.front(), "--data-parallel-sharding-strategy"), "optim_grads");
  EXPECT_EQ(Value(plan.launch.front(), "--ckpt-format"), "fsdp_dtensor");
}

// examples/multimodal takes the language model's length as --decoder-seq-length.
TEST(MakeLaunchTest, AnEncodersLengthIsNotTheLanguageModels) {
  const Plan plan = PlanOf(QuickstartJob(), {LaunchFramework::kMegatron});
  const Launch& launch = plan.launch.front();
  const int64_t tokens = std::stoll(Value(launch, "--decoder-seq-length"));
  EXPECT_GE(tokens, plan.batch_rule.token_cap);
  EXPECT_EQ(Value(launch, "--max-position-embeddings"), std::to_string(tokens));
  EXPECT_LT(std::stoll(Value(launch, "--seq-length")), tokens);
}

TEST(MakeLaunchTest, LengthsAreWhatTensorAndContextParallelismDivide) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  FixDegrees(job, 2, 1, 2);
  job.constraints.context_parallel = {2, 2};
  job.training.token_cap = 5001;
  const Plan plan = PlanOf(job, {LaunchFramework::kMegatron, LaunchFramework::kTorchtitan});
  EXPECT_EQ(Value(Of(plan, LaunchFramework::kMegatron), "--seq-length"), "5008");
  EXPECT_TRUE(Contains(File(Of(plan, LaunchFramework::kTorchtitan)), "t.seq_len = 5008\n"));
}

// Trainer.Config of torchtitan refuses CUDA graphs with pipelines, and they are on by default.
TEST(MakeLaunchTest, TorchtitanHasNoCudaGraphsInAPipeline) {
  const std::string off = "t.disable_cuda_graphs = True";
  Job job = TightJob();
  job.training.token_cap = 4096;
  const Plan piped = PlanOf(job, {LaunchFramework::kTorchtitan});
  EXPECT_TRUE(Contains(File(piped.launch.front()), off));
  job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  FixDegrees(job, 2, 1, 4);
  const Plan plain = PlanOf(job, {LaunchFramework::kTorchtitan});
  EXPECT_FALSE(Contains(File(plain.launch.front()), off));
  EXPECT_TRUE(Contains(File(plain.launch.front()), "llama3.config_registry:llama3_8b"));
}

// torch's ScheduleInterleaved1F1B accepts only whole rounds.
TEST(MakeLaunchTest, TorchtitanInterleavesWholeRounds) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 8);
  FixDegrees(job, 1, 4, 2);
  job.constraints.virtual_stages = {2, 2};
  for (const int64_t batch : {64, 52}) {
    job.training.global_batch_samples = batch;
    const Plan plan = PlanOf(job, {LaunchFramework::kTorchtitan, LaunchFramework::kMegatron});
    const int64_t packs = plan.prediction.micro_batches, rounds = std::max<int64_t>(1, packs / 4);
    const Launch& launch = Of(plan, LaunchFramework::kTorchtitan);
    EXPECT_EQ(Contains(File(launch), "Interleaved1F1B"), packs % rounds == 0) << packs;
    EXPECT_EQ(Has(launch, "schedule"), packs % rounds != 0) << packs;
    EXPECT_FALSE(Has(Of(plan, LaunchFramework::kMegatron), "schedule"));
  }
}

// Without ZeRO, DeepSpeed's engine has no optimizer for weights and gradients of different types.
TEST(MakeLaunchTest, DeepSpeedWithoutZeroAccumulatesInTheWeightsType) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  FixDegrees(job, 4, 2, 2);
  for (const ZeroStage stage : {ZeroStage::kNone, ZeroStage::kOptimizer}) {
    job.training.zero_stage = stage;
    const Plan plan = PlanOf(job, {LaunchFramework::kDeepSpeed});
    const Launch& launch = plan.launch.front();
    const bool none = stage == ZeroStage::kNone;
    EXPECT_EQ(Contains(launch.files.front().content, "\"grad_accum_dtype\": \"bf16\""), none);
    EXPECT_EQ(Has(launch, "precision"), none);
    EXPECT_TRUE(Contains(File(launch), "setdefault(\"dynamic_shape\", True)"));
  }
}

TEST(MakeLaunchTest, XTunerReadsPresetPacksInTheirOrder) {
  const Plan plan = PlanOf(QuickstartJob(), {LaunchFramework::kXTuner});
  const Launch& launch = plan.launch.front();
  EXPECT_TRUE(Contains(File(launch), "sampler_type=\"preset\""));
  EXPECT_TRUE(Contains(File(launch), "def pad_short_packs"));
  EXPECT_EQ(Value(launch, "--config"), "train_config.py");
  const auto images = [](const LaunchNote& note) { return Contains(note.text, "no images"); };
  EXPECT_TRUE(std::any_of(launch.notes.begin(), launch.notes.end(), images));
}

// The windows and biases of layers, as in GPT-OSS.
TEST(MakeLaunchTest, LayersThatTakeTurns) {
  Job job = TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 32);
  job.training.trainer = FindTrainer("megatron-core");
  job.constraints.recompute = FreestRecompute(*job.training.trainer);
  LanguageModel& model = job.model.language_model;
  const LanguageLayer window{
      .attention = AttentionKind::kWindow, .window_tokens = 128, .experts = true};
  for (int64_t i = 0; i < model.layers; ++i)
    model.runs.push_back({(i + 1) % 4 == 0 ? LanguageLayer{.experts = true} : window, 1});
  model.attention_sinks = true;
  const Plan plan = PlanOf(job, {LaunchFramework::kMegatron});
  const Launch& launch = plan.launch.front();
  EXPECT_EQ(Value(launch, "--window-size"), "(127,0)");
  EXPECT_EQ(Value(launch, "--window-attn-skip-freq"), "4");
  EXPECT_EQ(Value(launch, "--softmax-type"), "learnable");
  const auto says = [](const Launch& l, const std::string& part) {
    return std::any_of(l.notes.begin(), l.notes.end(),
                       [&](const LaunchNote& note) { return Contains(note.text, part); });
  };
  EXPECT_FALSE(says(launch, "cannot say all of the model"));
  model.layer_norms = 4;
  std::swap(model.runs[0], model.runs[3]);  // no period
  const Plan other = PlanOf(job, {LaunchFramework::kMegatron});
  EXPECT_TRUE(says(other.launch.front(), "4 norms per layer"));
  EXPECT_TRUE(
      Contains(Value(other.launch.front(), "--window-attn-skip-freq"), "[0,1,1,1,1,1,1,0,"));
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
