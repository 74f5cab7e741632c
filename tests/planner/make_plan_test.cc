#include "planner/make_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/planner/jobs.h"
#include "tests/planner/plan_dump.h"

namespace evenkeel::planner {
namespace {

// Checks that the plan is complete and without faults, and returns it.
Plan FaultlessPlanOf(const Job& job) {
  const PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete) << job.model.name;
  for (const std::string& fault : result.faults) ADD_FAILURE() << job.model.name << ": " << fault;
  return result.plan;
}

TEST(MakePlanTest, QuickstartFitsAndIsProven) {
  const Plan plan = FaultlessPlanOf(QuickstartJob());
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(static_cast<int64_t>(plan.stages.size()), plan.parallelism.pipeline);
  EXPECT_EQ(plan.proof.end, SearchEnd::kExhausted);
  EXPECT_LT(plan.proof.gap, 0.1);
  EXPECT_FALSE(plan.figures.empty());
  EXPECT_EQ(plan.placement.nodes, 4);
  EXPECT_LE(plan.alternatives.size(), 3u);
  for (const Alternative& a : plan.alternatives) EXPECT_NEAR(a.samples_per_step, 512, 26);
  EXPECT_GE(plan.alternatives.size(), 1u);
  for (const Alternative& a : plan.alternatives)
    EXPECT_EQ(a.indistinguishable, a.gpu_days < 1.1 * plan.prediction.gpu_days);
  for (const Alternative& a : plan.alternatives) EXPECT_FALSE(a.parallelism == plan.parallelism);
}

TEST(MakePlanTest, ATrainerThatCannotCutAnEncoderSaysWhatThatCosts) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  const Plan cut = FaultlessPlanOf(job);
  EXPECT_FALSE(cut.trainer_limits_cost);
  job.training.trainer = FindTrainer("megatron-core");
  job.training.unit_cap = cut.batch_rule.unit_cap;
  job.training.token_cap = cut.batch_rule.token_cap;
  const Plan whole = FaultlessPlanOf(job);
  for (const LayerGroup& group : whole.stages[1].layers) EXPECT_FALSE(IsTowerLayer(group.kind));
  ASSERT_TRUE(whole.trainer_limits_cost);
  const double slower = static_cast<double>(whole.prediction.step.total_ns) /
                        static_cast<double>(cut.prediction.step.total_ns);
  EXPECT_NEAR(*whole.trainer_limits_cost, slower - 1, 0.01);
  EXPECT_GT(slower, 1.5);
}

TEST(MakePlanTest, RanksShareImagesWhereThatIsQuicker) {
  Job job = QuickstartJob();
  FixDegrees(job, 8, 1, 4);
  const Plan split = FaultlessPlanOf(job);
  EXPECT_EQ(split.parallelism.encoder_data, 1);
  ASSERT_TRUE(split.encoder_data_gain);
  job.constraints.encoder_data = {};
  job.training.unit_cap = split.batch_rule.unit_cap;
  job.training.token_cap = split.batch_rule.token_cap;
  const Plan shared = FaultlessPlanOf(job);
  EXPECT_EQ(shared.parallelism.encoder_data, 8);
  const double gain = static_cast<double>(split.prediction.step.total_ns) /
                          static_cast<double>(shared.prediction.step.total_ns) -
                      1;
  EXPECT_GT(gain, 0.02);
  ASSERT_TRUE(shared.encoder_data_gain);
  EXPECT_NEAR(*shared.encoder_data_gain, gain, 1e-3);
  EXPECT_NEAR((1 + *split.encoder_data_gain) * (1 + gain), 1, 1e-3);
  // Trainers that cannot have neither.
  job.training.trainer = FindTrainer("megatron-deepspeed");
  const Plan without = FaultlessPlanOf(job);
  EXPECT_EQ(without.parallelism.encoder_data, 1);
  EXPECT_FALSE(without.encoder_data_gain);
}

TEST(MakePlanTest, PacksAreShorterWhereThatSavesRecompute) {
  Job job = QuickstartJob();
  job.training.trainer = &TrainerOf(Framework::kFsdp);
  job.training.zero_stage = ZeroStage::kWeights;
  const Plan chosen = FaultlessPlanOf(job);
  EXPECT_NE(chosen.batch_rule.caps_reason.find("fewer GPU-days than"), std::string::npos);
  // Level packs have 38 units.
  ASSERT_LT(chosen.batch_rule.unit_cap, 38);
  for (const int64_t units : {2, 4}) {
    Job longer = job;
    longer.training.unit_cap = units * chosen.batch_rule.unit_cap;
    EXPECT_GT(FaultlessPlanOf(longer).prediction.gpu_days, chosen.prediction.gpu_days) << units;
  }
}

TEST(MakePlanTest, StepPartsSumToTheStep) {
  for (const int64_t gpus : {32, 64}) {
    Job job = QuickstartJob();
    job.cluster.gpu_count = gpus;
    const StepTime t = FaultlessPlanOf(job).prediction.step;
    EXPECT_EQ(t.total_ns, t.encoder_compute_ns + t.language_compute_ns + t.recompute_ns +
                              t.tensor_communication_ns + t.pipeline_bubble_ns + t.imbalance_ns +
                              t.data_sync_ns + t.optimizer_ns);
  }
}

TEST(MakePlanTest, SameJobSamePlanToTheLastBit) {
  Job misfit = TextJob("llama3-70b", "a100-sxm-80gb", 8);
  for (const Job& job : {QuickstartJob(), misfit, TextJob("mixtral-8x7b", "h100-sxm-80gb", 64)}) {
    EXPECT_EQ(DumpPlan(MakePlan(job, {}).plan), DumpPlan(MakePlan(job, {}).plan));
  }
}

TEST(MakePlanTest, ThePlanDependsOnTheSeedOnlyThroughTheData) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);  // equal samples cannot be shuffled
  Plan a = FaultlessPlanOf(job);
  job.training.seed = 99;
  Plan b = FaultlessPlanOf(job);
  b.batch_rule.seed = a.batch_rule.seed;
  EXPECT_EQ(DumpPlan(a), DumpPlan(b));
}

TEST(MakePlanTest, PhasesAreEnteredInOrder) {
  std::vector<Phase> phases;
  PlanHooks hooks;
  hooks.enter = [&](Phase phase) { phases.push_back(phase); };
  MakePlan(QuickstartJob(), hooks);
  // The first two phases run for level packs, and then for each of the shorter ones.
  size_t at = 0;
  for (; phases.at(at) == Phase::kBatchRule; at += 2)
    ASSERT_EQ(phases.at(at + 1), Phase::kSearch) << at;
  EXPECT_GE(at, 4u);
  EXPECT_EQ(std::vector<Phase>(phases.begin() + static_cast<std::ptrdiff_t>(at), phases.end()),
            (std::vector<Phase>{Phase::kSimulate, Phase::kExplain, Phase::kCheck}));
  for (const Phase phase : phases) EXPECT_STRNE(PhaseName(phase), "");
}

// Stops at the n-th question, for n = 0, 1, 2, ... with growing strides.
void StopEverywhere(const Job& job) {
  int64_t asked = 0;
  PlanHooks counting;
  counting.stop = [&] { return ++asked, false; };
  const PlanResult whole = MakePlan(job, counting);
  ASSERT_EQ(whole.end, PlanEnd::kComplete);
  EXPECT_GT(asked, 10);
  EXPECT_EQ(DumpPlan(whole.plan), DumpPlan(MakePlan(job, {}).plan));
  const int64_t stride = std::max<int64_t>(1, asked / 60);
  for (int64_t at = 0; at < asked; at = at < 5 ? at + 1 : at + stride) {
    int64_t calls = 0;
    PlanHooks hooks;
    hooks.stop = [&] { return calls++ >= at; };
    EXPECT_EQ(MakePlan(job, hooks).end, PlanEnd::kStopped) << at << " of " << asked;
    EXPECT_LT(calls, at + 40) << "goes on after being told to stop";
  }
}

TEST(MakePlanTest, StopsWhereverItIsTold) {
  Job job = QuickstartJob();
  job.cluster.gpu_count = 16;
  StopEverywhere(job);
}

TEST(MakePlanTest, StopsWhileItExplainsAMisfit) {
  Job job = TextJob("llama3-8b", "a100-sxm-40gb", 4);
  job.constraints.recompute = RecomputePolicy::kForbidden;
  job.training.zero_stage = ZeroStage::kNone;
  ASSERT_FALSE(FaultlessPlanOf(job).fits());
  StopEverywhere(job);
}

// Checks that little time passes between any two questions, because otherwise a deadline is
// overrun.
void ExpectFrequentQuestions(const Job& job) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  std::chrono::duration<double> longest{0};
  PlanHooks hooks;
  hooks.stop = [&] {
    const Clock::time_point now = Clock::now();
    longest = std::max<std::chrono::duration<double>>(longest, now - last);
    last = now;
    return false;
  };
  MakePlan(job, hooks);
  // The aim is 50 ms, but sanitizers and busy machines are slower.
  EXPECT_LT(longest.count(), 1.0) << job.model.name;
  testing::Test::RecordProperty("longest_us", static_cast<int>(longest.count() * 1e6));
}

TEST(MakePlanTest, AsksOften) {
  ExpectFrequentQuestions(TextJob("llama3.1-405b", "h100-sxm-80gb", 16384));
  ExpectFrequentQuestions(TextJob("llama3.1-405b", "a100-sxm-80gb", 64));
  Job batch = QuickstartJob();
  batch.training.global_batch_samples = 10'000'000;
  ExpectFrequentQuestions(batch);
}

TEST(MakePlanTest, OneGpu) {
  const Plan plan = FaultlessPlanOf(TextJob("qwen2-0.5b", "h100-sxm-80gb", 1));
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(plan.parallelism, (Parallelism{1, 1, 1}));
  EXPECT_EQ(plan.prediction.step.data_sync_ns, 0);
  EXPECT_EQ(plan.prediction.step.pipeline_bubble_ns, 0);
}

TEST(MakePlanTest, PrimeGpuCounts) {
  for (const int64_t gpus : {2, 3, 5, 7, 13, 31, 127}) {
    Job job = TextJob("qwen2-1.5b", "h100-sxm-80gb", gpus);
    const Parallelism p = FaultlessPlanOf(job).parallelism;
    EXPECT_EQ(p.tensor * p.pipeline * p.data, gpus);
    FaultlessPlanOf(VisionJob("internvit-300m-448px", "qwen2-0.5b", "h100-sxm-80gb", gpus));
  }
}

TEST(MakePlanTest, HostMemoryHoldsACheckpointOfTheNode) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  const Plan plan = FaultlessPlanOf(job);
  int64_t state = 0;
  for (const StagePlan& s : plan.stages)
    state = std::max(state, s.memory.weights + s.memory.optimizer);
  EXPECT_GT(plan.placement.host_memory_bytes, 8 * state);
  EXPECT_LT(plan.placement.host_memory_bytes, 8 * state + (int64_t{100} << 30));
  EXPECT_GT(plan.placement.shared_memory_bytes, 0);
  EXPECT_LT(plan.placement.shared_memory_bytes, plan.placement.host_memory_bytes / 2);
}

TEST(MakePlanTest, OneLayerModel) {
  Job job = TextJob("qwen2-0.5b", "h100-sxm-80gb", 16);
  job.model.language_model.layers = 1;
  const Plan plan = FaultlessPlanOf(job);
  ASSERT_TRUE(plan.fits());
  EXPECT_EQ(plan.parallelism.pipeline, 1);
}

TEST(MakePlanTest, MoreRanksThanPacks) {
  Job job = TextJob("qwen2-0.5b", "h100-sxm-80gb", 64);
  job.training.global_batch_samples = 1;
  EXPECT_TRUE(FaultlessPlanOf(job).fits());
  FixDegrees(job, 1, 1, 64);
  const Plan plan = FaultlessPlanOf(job);
  EXPECT_EQ(plan.prediction.micro_batches, 1);
}

TEST(MakePlanTest, TinyDatasets) {
  Job job = QuickstartJob();
  job.dataset = {{{1, 300, 1}}};
  FaultlessPlanOf(job);
  job.dataset = {{{0, 300, 1}}};  // an encoder that never sees a unit
  EXPECT_EQ(FaultlessPlanOf(job).batch_rule.unit_cap, 0);
  job.dataset = {{{0, 1, 5}, {1, 257, 1}, {40, 12'000, 1}}};
  FaultlessPlanOf(job);
}

TEST(MakePlanTest, TrillionsOfSamplesOverflowNothing) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 64);
  job.dataset.bins = {{0, 2048, 1'000'000'000'000}, {0, 4096, 1'000'000'000'000}};
  job.training.epochs = 10'000;
  const Plan plan = FaultlessPlanOf(job);
  EXPECT_GT(plan.prediction.epoch_seconds, 0);
  EXPECT_GT(plan.prediction.gpu_days, 0);
}

TEST(MakePlanTest, LargestBatchOnOnePipeline) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.global_batch_samples = 10'000'000;
  FixDegrees(job, 1, 8, 1);
  const Plan plan = FaultlessPlanOf(job);
  EXPECT_TRUE(plan.fits());
  EXPECT_GT(plan.prediction.micro_batches, 1'000'000);
  EXPECT_NEAR(plan.prediction.samples_per_step, 10'000'000, 1);
  EXPECT_LT(plan.prediction.bubble_ratio, 0.3);
}

TEST(MakePlanTest, HugeCluster) {
  const Plan plan = FaultlessPlanOf(TextJob("llama3.1-405b", "h100-sxm-80gb", 16384));
  EXPECT_TRUE(plan.fits());
  EXPECT_EQ(plan.placement.nodes, 2048);
  Job most = TextJob("llama3-8b", "h100-sxm-80gb", 65536);
  EXPECT_TRUE(FaultlessPlanOf(most).fits());
}

TEST(MakePlanTest, Mixtures) {
  const Plan v2 = FaultlessPlanOf(TextJob("deepseek-v2-236b", "h200-sxm-141gb", 128));
  EXPECT_TRUE(v2.fits());
  FaultlessPlanOf(TextJob("deepseek-v3-671b", "h100-sxm-80gb", 512));
}

TEST(MakePlanTest, FrozenParts) {
  const double whole = FaultlessPlanOf(QuickstartJob()).prediction.gpu_days;
  Job job = QuickstartJob();
  job.model.towers[0].encoder.train = TrainMode::kFrozen;
  const double frozen_encoder = FaultlessPlanOf(job).prediction.gpu_days;
  EXPECT_LT(frozen_encoder, whole);
  job.model.language_model.train = TrainMode::kFrozen;
  const double projector_alone = FaultlessPlanOf(job).prediction.gpu_days;
  EXPECT_LT(projector_alone, frozen_encoder);
  job.model.towers[0].projector.train = TrainMode::kFrozen;
  const Plan nothing = FaultlessPlanOf(job);
  ASSERT_TRUE(nothing.fits());
  EXPECT_EQ(nothing.prediction.step.data_sync_ns, 0);
  EXPECT_EQ(nothing.prediction.step.optimizer_ns, 0);
}

TEST(MakePlanTest, RecomputePoliciesAreOrdered) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  const double automatic = FaultlessPlanOf(job).prediction.gpu_days;
  job.constraints.recompute = RecomputePolicy::kFull;
  const Plan full = FaultlessPlanOf(job);
  EXPECT_GT(full.prediction.gpu_days, automatic);
  for (const StagePlan& stage : full.stages) {
    for (const LayerGroup& g : stage.layers)
      EXPECT_EQ(g.recomputed_count(), IsTransformerLayer(g.kind) ? g.count : 0);
  }
}

TEST(MakePlanTest, PublishedPartitionIsNeverPredictedBetterThanOurs) {
  Job job = QuickstartJob();
  FixDegrees(job, 2, 4, 4);
  const Plan free = FaultlessPlanOf(job);
  job.constraints.stage_layers = {22, 23, 24, 24};
  const Plan given = FaultlessPlanOf(job);
  EXPECT_GE(given.proof.step_ns, free.proof.lower_bound_ns);
  EXPECT_GE(given.proof.closed_form_ns, free.proof.closed_form_optimum_ns);
  EXPECT_GE(given.prediction.step.total_ns, free.prediction.step.total_ns);
}

TEST(MakePlanTest, EveryLanguageModelOnSomeGpus) {
  struct Gpus {
    const char* name;
    int64_t count;
  };
  for (const LanguageModelEntry& entry : LanguageModels()) {
    for (const Gpus& gpus : {Gpus{"h100-sxm-80gb", 64}, Gpus{"a100-sxm-40gb", 8},
                             Gpus{"mi300x-192gb", 16}, Gpus{"l40s-48gb", 4}}) {
      Job job = TextJob(entry.spec.name, gpus.name, gpus.count);
      const Plan plan = FaultlessPlanOf(job);
      if (!plan.fits()) {
        EXPECT_GT(plan.misfit->short_bytes, 0) << entry.spec.name;
      }
    }
  }
}

TEST(MakePlanTest, EveryVisionLanguageModel) {
  for (const VisionLanguageEntry& entry : VisionLanguageModels()) {
    Job job = QuickstartJob();
    job.model = entry.spec;
    job.dataset = DefaultVisionLanguageDataset(entry.spec.towers[0].encoder.llm_tokens_per_unit);
    FaultlessPlanOf(job);
  }
}

}  // namespace
}  // namespace evenkeel::planner
