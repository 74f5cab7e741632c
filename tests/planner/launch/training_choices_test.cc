// Launch settings of precisions, optimizers, offloads and groups that share the states.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/integers.h"
#include "planner/make_plan.h"
#include "planner/space/offload.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"
#include "tests/planner/plans.h"

namespace evenkeel::planner {
namespace {

Launch LaunchOf(Job job, LaunchFramework framework) {
  job.launch.frameworks = {framework};
  PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.plan.launch.size(), 1u);
  return std::move(result.plan.launch.front());
}

bool HasArguments(const Launch& launch, const std::vector<std::string>& words) {
  return std::search(launch.arguments.begin(), launch.arguments.end(), words.begin(),
                     words.end()) != launch.arguments.end();
}

bool HasNote(const Launch& launch, const std::string& topic) {
  return std::any_of(launch.notes.begin(), launch.notes.end(),
                     [&](const LaunchNote& note) { return note.topic == topic; });
}

Job Llama8b(const char* gpu = "b200-sxm-180gb") { return TextJob("llama3-8b", gpu, 16); }

TEST(TrainingChoicesTest, MegatronHasEveryPrecision) {
  const std::pair<Precision, std::vector<std::string>> flags[] = {
      {Precision::kFp8Delayed, {"--fp8-format", "hybrid", "--fp8-recipe", "delayed"}},
      {Precision::kFp8Current, {"--fp8-format", "hybrid", "--fp8-recipe", "tensorwise"}},
      {Precision::kFp8Block, {"--fp8-format", "e4m3", "--fp8-recipe", "blockwise"}},
      {Precision::kMxfp8, {"--fp8-format", "e4m3", "--fp8-recipe", "mxfp8"}},
      {Precision::kNvfp4, {"--fp4-format", "e2m1", "--fp4-recipe", "nvfp4"}}};
  for (const auto& [precision, words] : flags) {
    Job job = Llama8b();
    job.training.precision = precision;
    const Launch launch = LaunchOf(job, LaunchFramework::kMegatron);
    EXPECT_TRUE(HasArguments(launch, words)) << RecipeOf(precision).name;
    EXPECT_FALSE(HasArguments(launch, {"--fp8-param-gather"}));
    EXPECT_FALSE(HasNote(launch, "precision"));
    job.training.execution.holds_quantised_weights = true;
    EXPECT_EQ(HasArguments(LaunchOf(job, LaunchFramework::kMegatron), {"--fp8-param-gather"}),
              RecipeOf(precision).holds_weights)
        << RecipeOf(precision).name;
  }
}

TEST(TrainingChoicesTest, OtherSettingsNoteWhatTheyDoNotTurnOn) {
  Job job = Llama8b("h100-sxm-80gb");
  job.training.precision = Precision::kFp8Current;
  job.training.optimizer = Optimizer::kLion;
  for (const LaunchFramework framework : {LaunchFramework::kTorchtitan, LaunchFramework::kFsdp,
                                          LaunchFramework::kXTuner, LaunchFramework::kDeepSpeed}) {
    const Launch launch = LaunchOf(job, framework);
    EXPECT_TRUE(HasNote(launch, "precision"));
    EXPECT_TRUE(HasNote(launch, "optimizer"));
  }
  EXPECT_TRUE(HasNote(LaunchOf(job, LaunchFramework::kMegatron), "optimizer"));
}

TEST(TrainingChoicesTest, AutocastIsNotTurnedOn) {
  Job job = Llama8b();
  SetAutocast(&job.training);
  for (const LaunchFramework framework : {LaunchFramework::kMegatron, LaunchFramework::kTorchtitan})
    EXPECT_TRUE(HasNote(LaunchOf(job, framework), "precision"));
}

TEST(TrainingChoicesTest, SmallMomentsNeedShardedStates) {
  Job job = Llama8b();
  job.training.optimizer = Optimizer::kAdam16BitMoments;
  EXPECT_FALSE(HasNote(LaunchOf(job, LaunchFramework::kMegatron), "optimizer"));
  job.training.zero_stage = ZeroStage::kNone;
  EXPECT_TRUE(HasNote(LaunchOf(job, LaunchFramework::kMegatron), "optimizer"));
}

TEST(TrainingChoicesTest, MegatronsGradients) {
  const auto has = [](bool float16, bool fp32, const char* argument) {
    Job job = Llama8b();
    job.launch.float16 = float16;
    job.training.distributed_gradients_fp32 = fp32;
    return HasArguments(LaunchOf(job, LaunchFramework::kMegatron), {argument});
  };
  for (const bool float16 : {false, true}) {
    for (const bool fp32 : {false, true}) {
      EXPECT_EQ(has(float16, fp32, "--grad-reduce-in-bf16"), !float16 && !fp32);
      EXPECT_EQ(has(float16, fp32, "--accumulate-allreduce-grads-in-fp32"), float16 && fp32);
    }
  }
}

// Another trainer's own default is carried over, and float16 changes that of Megatron.
TEST(TrainingChoicesTest, GradientsOfAFloat16JobOfAnotherTrainer) {
  const auto accumulates = [](bool float16, bool fp32) {
    Job job = Llama8b();
    job.training.trainer = FindTrainer("torchtitan");
    job.training.zero_stage = ZeroStage::kWeights;
    job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
    job.launch.float16 = float16;
    job.training.distributed_gradients_fp32 = fp32;
    const Launch launch = LaunchOf(job, LaunchFramework::kMegatron);
    return HasArguments(launch, {"--accumulate-allreduce-grads-in-fp32"}) ||
           (!float16 && !HasArguments(launch, {"--grad-reduce-in-bf16"}));
  };
  EXPECT_TRUE(accumulates(/*float16=*/false, /*fp32=*/true));
  EXPECT_FALSE(accumulates(false, false));
  EXPECT_FALSE(accumulates(true, true));
}

TEST(TrainingChoicesTest, DeterministicKernels) {
  Job job = Llama8b("h100-sxm-80gb");
  const auto asks = [](const Launch& launch) {
    return std::any_of(launch.environment.begin(), launch.environment.end(),
                       [](const auto& variable) { return variable.name == "NCCL_ALGO"; });
  };
  EXPECT_FALSE(asks(LaunchOf(job, LaunchFramework::kMegatron)));
  EXPECT_FALSE(HasNote(LaunchOf(job, LaunchFramework::kFsdp), "deterministic"));
  job.training.execution.deterministic = true;
  job.training.execution.fused_loss = false;
  const Launch megatron = LaunchOf(job, LaunchFramework::kMegatron);
  EXPECT_TRUE(asks(megatron));
  EXPECT_TRUE(HasArguments(megatron, {"--attention-backend", "auto", "--deterministic-mode"}));
  for (const LaunchFramework framework : {LaunchFramework::kTorchtitan, LaunchFramework::kFsdp}) {
    const Launch launch = LaunchOf(job, framework);
    EXPECT_FALSE(asks(launch));
    EXPECT_TRUE(HasNote(launch, "deterministic"));
  }
}

TEST(TrainingChoicesTest, MegatronsOptimizers) {
  Job job = Llama8b();
  const auto launch = [&](Optimizer optimizer) {
    job.training.optimizer = optimizer;
    return LaunchOf(job, LaunchFramework::kMegatron);
  };
  EXPECT_TRUE(HasArguments(launch(Optimizer::kAdam), {"--use-distributed-optimizer"}));
  EXPECT_TRUE(HasArguments(launch(Optimizer::kSgd), {"--optimizer", "sgd"}));
  EXPECT_TRUE(HasArguments(
      launch(Optimizer::kAdam8BitMoments),
      {"--use-precision-aware-optimizer", "--exp-avg-dtype", "fp8", "--exp-avg-sq-dtype", "fp8"}));
  // dist_muon shards by itself and refuses the flag.
  EXPECT_TRUE(HasArguments(launch(Optimizer::kMuon), {"--optimizer", "dist_muon"}));
  EXPECT_FALSE(HasArguments(launch(Optimizer::kMuon), {"--use-distributed-optimizer"}));
}

TEST(TrainingChoicesTest, DispatchersOfExperts) {
  Job job = TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 32);
  job.cluster.inter_node_bytes_per_second = 50e9;
  job.constraints.expert_parallel = {32, 32};
  const auto launch = [&](Dispatcher dispatcher, LaunchFramework framework) {
    job.training.execution.dispatcher = dispatcher;
    return LaunchOf(job, framework);
  };
  const LaunchFramework megatron = LaunchFramework::kMegatron;
  EXPECT_TRUE(HasArguments(launch(Dispatcher::kAllToAll, megatron),
                           {"--moe-token-dispatcher-type", "alltoall"}));
  EXPECT_TRUE(HasArguments(launch(Dispatcher::kAllGather, megatron),
                           {"--moe-token-dispatcher-type", "allgather"}));
  EXPECT_TRUE(HasArguments(
      launch(Dispatcher::kHybridEp, megatron),
      {"--moe-token-dispatcher-type", "flex", "--moe-flex-dispatcher-backend", "hybridep"}));
  const Launch least = launch(Dispatcher::kLeastTime, megatron);
  EXPECT_TRUE(HasArguments(least, {"--moe-flex-dispatcher-backend", "deepep"}));
  EXPECT_FALSE(HasNote(least, "experts"));
  job.training.trainer = FindTrainer("torchtitan");
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  EXPECT_TRUE(HasNote(launch(Dispatcher::kDeepEp, LaunchFramework::kTorchtitan), "experts"));
  EXPECT_FALSE(HasNote(launch(Dispatcher::kAllToAll, LaunchFramework::kTorchtitan), "experts"));
}

TEST(TrainingChoicesTest, LayersIn16Bits) {
  Job job = Llama8b();
  job.training.precision = Precision::kFp8Current;
  EXPECT_FALSE(
      HasArguments(LaunchOf(job, LaunchFramework::kMegatron), {"--first-last-layers-bf16"}));
  job.training.execution.start_layers_16bit = 1;
  job.training.execution.end_layers_16bit = 2;
  EXPECT_TRUE(HasArguments(LaunchOf(job, LaunchFramework::kMegatron),
                           {"--first-last-layers-bf16", "--num-layers-at-start-in-bf16", "1",
                            "--num-layers-at-end-in-bf16", "2"}));
}

TEST(TrainingChoicesTest, GroupsThatShareTheStates) {
  Job job = Llama8b();
  FixDegrees(job, 1, 1, 16);
  job.training.zero_group = 4;
  for (const LaunchFramework framework :
       {LaunchFramework::kMegatron, LaunchFramework::kFlagScale}) {
    const Launch launch = LaunchOf(job, framework);
    EXPECT_FALSE(HasNote(launch, "sharding"));
  }
  EXPECT_TRUE(HasArguments(LaunchOf(job, LaunchFramework::kMegatron),
                           {"--num-distributed-optimizer-instances", "4"}));
  EXPECT_TRUE(HasNote(LaunchOf(job, LaunchFramework::kFsdp), "sharding"));
}

TEST(TrainingChoicesTest, ActivationsInHostMemory) {
  Job job = Llama8b("h100-sxm-80gb");
  job.training.token_cap = 8192;
  AskActivationOffload(12, &job);
  const std::vector<std::string> words = {"--cpu-offloading-num-layers", "12"};
  const Launch megatron = LaunchOf(job, LaunchFramework::kMegatron);
  EXPECT_TRUE(HasArguments(megatron, words));
  EXPECT_FALSE(HasArguments(megatron, {"--recompute-granularity"}));
  EXPECT_EQ(megatron.match, LaunchMatch::kExact);
  EXPECT_FALSE(HasNote(megatron, "memory"));
  // Without a record of its own, a trainer may have a pipeline; Megatron-LM's arguments may not.
  Job any = Llama8b("h100-sxm-80gb");
  any.training.trainer = FindTrainer("generic");
  any.training.token_cap = 8192;
  FixDegrees(any, 1, 2, 8);
  AskActivationOffload(12, &any);
  EXPECT_FALSE(HasArguments(LaunchOf(any, LaunchFramework::kMegatron), words));

  Job inputs = Llama8b("h100-sxm-80gb");
  inputs.training.trainer = FindTrainer("xtuner");
  inputs.training.zero_stage = ZeroStage::kWeights;
  AskActivationOffload(32, &inputs);
  const Launch xtuner = LaunchOf(inputs, LaunchFramework::kXTuner);
  ASSERT_EQ(xtuner.environment.size(), 1u);
  EXPECT_EQ(xtuner.environment[0].name, "XTUNER_ACTIVATION_OFFLOAD");
  inputs.training.trainer = FindTrainer("torchtune");
  EXPECT_TRUE(HasNote(LaunchOf(inputs, LaunchFramework::kFsdp), "memory"));
}

TEST(TrainingChoicesTest, WeightsInHostMemory) {
  Job job = Llama8b("h100-sxm-80gb");
  job.training.trainer = FindTrainer("torchtitan");
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  const auto text = [&](LaunchFramework framework) {
    return LaunchOf(job, framework).files.back().content;
  };
  EXPECT_EQ(text(LaunchFramework::kTorchtitan).find("cpu_offload"), std::string::npos);
  EXPECT_EQ(text(LaunchFramework::kFsdp).find("CPUOffloadPolicy"), std::string::npos);
  job.training.offload = {.asked = true, .ratio = 1, .charged_ratio = 1, .weights = true};
  EXPECT_NE(text(LaunchFramework::kTorchtitan).find("t.enable_cpu_offload = True\n"),
            std::string::npos);
  const std::string module = text(LaunchFramework::kFsdp);
  EXPECT_NE(module.find("import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard"),
            std::string::npos);
  EXPECT_NE(module.find("fully_shard(model, mesh=sharded, mp_policy=policy, offload_policy=host,"),
            std::string::npos);
  EXPECT_NE(module.find("fully_shard(layer, mesh=sharded, mp_policy=policy, offload_policy=host,"),
            std::string::npos);
  EXPECT_TRUE(HasNote(LaunchOf(job, LaunchFramework::kXTuner), "memory"));
}

// Stages 1 and 2 reduce into two buckets and gather into a third, stage 3 has one.
TEST(TrainingChoicesTest, DeepSpeedsBucketsAreAsPlanned) {
  Job job = TrainedBy(Llama8b("h100-sxm-80gb"), "deepspeed");
  for (const ZeroStage stage : {ZeroStage::kGradients, ZeroStage::kWeights}) {
    job.training.zero_stage = stage;
    job.training.execution.bucket_bytes = 600;
    const std::string text = LaunchOf(job, LaunchFramework::kDeepSpeed).files.front().content;
    const bool one = stage == ZeroStage::kWeights;
    EXPECT_NE(text.find(one ? "\"reduce_bucket_size\": 300" : "\"reduce_bucket_size\": 100"),
              std::string::npos);
    EXPECT_EQ(text.find("allgather_bucket_size") == std::string::npos, one);
  }
}

TEST(TrainingChoicesTest, DeepSpeedsParametersInHostMemory) {
  Job job = TrainedBy(Llama8b("h100-sxm-80gb"), "deepspeed");
  job.training.zero_stage = ZeroStage::kWeights;
  const auto text = [&] {
    return LaunchOf(job, LaunchFramework::kDeepSpeed).files.front().content;
  };
  EXPECT_EQ(text().find("offload_"), std::string::npos);
  job.training.offload = {.asked = true, .ratio = 1, .charged_ratio = 1, .weights = true};
  EXPECT_NE(text().find("\"offload_optimizer\": {\"device\": \"cpu\""), std::string::npos);
  EXPECT_NE(text().find("\"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}"),
            std::string::npos);
  EXPECT_FALSE(HasNote(LaunchOf(job, LaunchFramework::kDeepSpeed), "memory"));
}

TEST(TrainingChoicesTest, AStepInsideTheBackwardPass) {
  Job job = TrainedBy(Llama8b("h100-sxm-80gb"), "pytorch-fsdp");
  job.training.global_batch_samples = 16;
  job.training.token_cap = 4096;
  const char* const function = "def step_in_backward(model, optimizer_of):";
  EXPECT_EQ(LaunchOf(job, LaunchFramework::kFsdp).files.back().content.find(function),
            std::string::npos);
  job.training.fused_step = true;
  const Launch fsdp = LaunchOf(job, LaunchFramework::kFsdp);
  EXPECT_EQ(fsdp.match, LaunchMatch::kExact);
  EXPECT_NE(fsdp.files.back().content.find(function), std::string::npos);
  EXPECT_TRUE(HasNote(fsdp, "memory"));
  EXPECT_TRUE(HasNote(LaunchOf(job, LaunchFramework::kTorchtitan), "memory"));
  // Another trainer gets a plan of its own, with a step after the pass.
  const Launch deepspeed = LaunchOf(job, LaunchFramework::kDeepSpeed);
  EXPECT_EQ(deepspeed.match, LaunchMatch::kNearest);
  EXPECT_TRUE(HasNote(deepspeed, "memory"));
}

// 18 ranks hold copies, in 9 groups of 2 context-parallel ranks: no group of 9 ranks is whole ones.
TEST(TrainingChoicesTest, TorchtitansDegreesMultiplyToTheDataParallelOne) {
  Job job = TextJob("llama3-8b", "b200-sxm-180gb", 18);
  job.cluster.gpus_per_node = 6;
  FixDegrees(job, 1, 1, 9);
  job.constraints.context_parallel = {2, 2};
  job.training.trainer = FindTrainer("torchtitan");
  job.training.zero_stage = ZeroStage::kWeights;
  job.training.execution = DefaultExecution(*job.training.trainer, ZeroStage::kWeights);
  const auto degree = [](const std::string& text, const std::string& field) {
    const size_t at = text.find("p." + field + " = ");
    return at == std::string::npos ? 0 : std::stoll(text.substr(at + field.size() + 5));
  };
  for (const int64_t group : {0, 2, 6, 9, 18}) {
    job.training.zero_group = group;
    const Launch launch = LaunchOf(job, LaunchFramework::kTorchtitan);
    ASSERT_FALSE(launch.files.empty());
    const std::string& text = launch.files.back().content;
    const int64_t sharded = degree(text, "data_parallel_shard_degree");
    EXPECT_EQ(sharded * degree(text, "data_parallel_replicate_degree"), 9) << group;
    const int64_t wanted = group == 0 ? 9 : group == 9 ? 3 : group / 2;
    EXPECT_EQ(sharded, wanted) << group;
  }
}

TEST(IntegersTest, LargestDivisorBelow) {
  for (int64_t number = 1; number <= 60; ++number) {
    for (int64_t most = 1; most <= 70; ++most) {
      const int64_t divisor = LargestDivisor(number, most);
      EXPECT_EQ(number % divisor, 0);
      EXPECT_LE(divisor, most);
      for (int64_t d = divisor + 1; d <= std::min(number, most); ++d) EXPECT_NE(number % d, 0);
    }
  }
}

TEST(TrainingChoicesTest, InterleavedMicroBatchesRunInGroups) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.token_cap = 4096;
  FixDegrees(job, 1, 4, 2);
  job.constraints.virtual_stages = {2, 2};
  const auto launch = [&](int64_t samples) {
    job.training.global_batch_samples = samples;
    return LaunchOf(job, LaunchFramework::kMegatron);
  };
  const std::string flag = "--microbatch-group-size-per-virtual-pipeline-stage";
  EXPECT_FALSE(HasArguments(launch(16), {flag}));  // 8 micro-batches in groups of 4
  EXPECT_TRUE(HasArguments(launch(22), {flag, "6"})) << "of 11, 11 mod 6 = 5 remain";
  // Fewer than stages do not run.
  const Launch few = launch(6);
  EXPECT_EQ(few.match, LaunchMatch::kNearest);
  EXPECT_TRUE(HasNote(few, "schedule"));
  EXPECT_EQ(few.parallelism.virtual_stages, 1);
}

TEST(TrainingChoicesTest, MegatronGetsABackendThatHasTheAttention) {
  const auto has = [](const Job& job, const char* name) {
    return HasArguments(LaunchOf(job, LaunchFramework::kMegatron), {"--attention-backend", name});
  };
  Job job = Llama8b("h100-sxm-80gb");
  EXPECT_TRUE(has(job, "flash"));
  job.model.language_model.attention_sinks = true;
  EXPECT_TRUE(has(job, "fused"));
  job = TextJob("deepseek-v3-671b", "h200-sxm-141gb", 256);  // latent attention
  EXPECT_TRUE(has(job, "auto"));
}

TEST(TrainingChoicesTest, MegatronsMuonOverlapsNothingAndShardsOnlyStates) {
  Job job = Llama8b("h100-sxm-80gb");
  job.training.optimizer = Optimizer::kMuon;
  const Launch muon = LaunchOf(job, LaunchFramework::kMegatron);
  EXPECT_EQ(muon.match, LaunchMatch::kExact);
  EXPECT_FALSE(HasArguments(muon, {"--overlap-grad-reduce"}));
  EXPECT_FALSE(HasArguments(muon, {"--overlap-param-gather"}));
  EXPECT_TRUE(HasNote(muon, "optimizer"));
  job.training.zero_stage = ZeroStage::kGradients;
  const Launch sharded = LaunchOf(job, LaunchFramework::kMegatron);
  EXPECT_EQ(sharded.match, LaunchMatch::kNone);
  EXPECT_TRUE(HasNote(sharded, "optimizer"));
}

TEST(TrainingChoicesTest, ContextRanksExchangeWhatThePlanSays) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 32);
  job.constraints.context_parallel = {8, 8};
  job.training.token_cap = 65536;
  const std::pair<ContextKind, std::vector<std::string>> flags[] = {
      {ContextKind::kUlysses, {"--cp-comm-type", "a2a"}},
      {ContextKind::kUlyssesOrRing, {"--cp-comm-type", "a2a"}},
      {ContextKind::kRing, {"--cp-comm-type", "p2p"}},
      {ContextKind::kAllGather, {"--cp-comm-type", "all_gather"}},
      // 4 of the 8 GPUs of a node are a tensor-parallel group.
      {ContextKind::kHierarchical,
       {"--cp-comm-type", "a2a+p2p", "--hierarchical-context-parallel-sizes", "2", "4"}}};
  for (const auto& [kind, words] : flags) {
    job.training.execution.context = kind;
    const int64_t tensor = kind == ContextKind::kHierarchical ? 4 : 1;
    FixDegrees(job, tensor, 1, 4 / tensor);
    const Launch megatron = LaunchOf(job, LaunchFramework::kMegatron);
    EXPECT_TRUE(HasArguments(megatron, words)) << words.back();
    EXPECT_EQ(HasArguments(megatron, {"--hierarchical-context-parallel-sizes"}),
              kind == ContextKind::kHierarchical);
    const Launch torchtitan = LaunchOf(job, LaunchFramework::kTorchtitan);
    // Ulysses or a ring is what Megatron's jobs have unasked, and torchtitan's have all-gather.
    const bool other =
        std::any_of(torchtitan.notes.begin(), torchtitan.notes.end(), [](const LaunchNote& note) {
          return note.text.find("have no other exchange") != std::string::npos;
        });
    EXPECT_EQ(other, kind != ContextKind::kAllGather && kind != ContextKind::kUlyssesOrRing);
  }
}

}  // namespace
}  // namespace evenkeel::planner
