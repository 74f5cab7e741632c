// Tests what is read of FSDP and DeepSpeed in Hugging Face's arguments.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/request_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

UserRun FsdpRun(const std::string& fsdp, const std::string& config = "{}", JobFlags flags = {}) {
  return TrainerRun({ArgumentsWith(", \"fsdp\": " + fsdp + ", \"fsdp_config\": " + config)},
                    std::move(flags));
}

std::string FsdpRefusal(const std::string& fsdp, const std::string& config) {
  return RefusalOf({ArgumentsWith(", \"fsdp\": " + fsdp + ", \"fsdp_config\": " + config)});
}

TEST(HuggingFaceFsdpTest, WordsNameTheStrategy) {
  const auto training = [](const std::string& fsdp) { return FsdpRun(fsdp).job.training(); };
  EXPECT_EQ(training("\"full_shard auto_wrap\"").zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(training("\"full_shard auto_wrap\"").trainer().name(), "pytorch-fsdp");
  EXPECT_EQ(training("true").zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(training("[\"shard_grad_op\"]").zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_EQ(training("\"no_shard\"").zero_stage(), v1::ZERO_STAGE_0);
  // The record of FSDP has only full shards; the other one gets its defaults.
  EXPECT_EQ(training("\"shard_grad_op\"").trainer().name(), "huggingface-trainer");
  EXPECT_TRUE(training("\"shard_grad_op\"").execution().has_bucket_bytes());
  EXPECT_EQ(training("\"shard_grad_op\"").execution().bucket_bytes(), 0);
  EXPECT_EQ(training("\"shard_grad_op\"").execution().kernel_rate_ratio(), .96);
  EXPECT_TRUE(Assumes(FsdpRun("\"shard_grad_op\""), "defaults of pytorch-fsdp, with ZeRO-2"));
  EXPECT_TRUE(training("\"full_shard offload\"").offload().weights());
  EXPECT_EQ(training("\"\"").trainer().name(), "huggingface-trainer");
  EXPECT_EQ(training("false").trainer().name(), "huggingface-trainer");
  EXPECT_TRUE(Assumes(FsdpRun("\"no_shard\""), "defaults of pytorch-fsdp, without shards"));
  EXPECT_NE(FsdpRefusal("\"new_shard\"", "{}").find("unknown word \"new_shard\""),
            std::string::npos);
  EXPECT_NE(FsdpRefusal("\"full_shard shard_grad_op\"", "{}").find("must not name both"),
            std::string::npos);
  EXPECT_TRUE(Assumes(FsdpRun("\"full_shard\""), "without auto_wrap"));
  EXPECT_FALSE(Assumes(FsdpRun("\"full_shard auto_wrap\""), "without auto_wrap"));
}

// accelerate's no_sync keeps gradients whole until the last micro-batch.
TEST(HuggingFaceFsdpTest, GradientsAreWholeBetweenMicroBatches) {
  const auto whole = [](const std::string& more) {
    return TrainerRun({ArgumentsWith(more)})
        .job.training()
        .execution()
        .accumulates_whole_gradients();
  };
  const std::string sync =
      ", \"accelerator_config\": {\"gradient_accumulation_kwargs\": {\"sync_each_batch\": true}}";
  EXPECT_TRUE(whole(", \"fsdp\": \"full_shard auto_wrap\""));
  EXPECT_TRUE(whole(", \"fsdp\": \"shard_grad_op auto_wrap\""));
  EXPECT_FALSE(whole(", \"fsdp\": \"no_shard\""));
  EXPECT_FALSE(whole(", \"fsdp\": \"full_shard auto_wrap\"" + sync));
  EXPECT_FALSE(whole(""));
  const std::string version =
      ", \"fsdp\": \"full_shard auto_wrap\", \"fsdp_config\": {\"version\": ";
  EXPECT_TRUE(whole(version + "1}"));
  EXPECT_TRUE(whole(version + "2}"));
}

// PEFT's policy gives each adapter a unit of its own, in version 1 alone.
TEST(HuggingFaceFsdpTest, AdaptersAreGatheredOnTheirOwnInVersion1) {
  const auto execution = [](const std::string& more) {
    return TrainerRun({AdapterWith(""), ArgumentsWith(more)}).job.training().execution();
  };
  const std::string fsdp = ", \"fsdp\": \"full_shard auto_wrap\"";
  const v1::Execution one = execution(fsdp + R"(, "fsdp_config": {"version": 1})");
  EXPECT_GT(one.adapter_gather_seconds(), 1e-4);
  EXPECT_TRUE(one.has_fp32_adapters());
  EXPECT_FALSE(one.fp32_adapters());
  const v1::Execution two = execution(fsdp + R"(, "fsdp_config": {"version": 2})");
  EXPECT_EQ(two.adapter_gather_seconds(), 0);
  EXPECT_FALSE(execution("").has_fp32_adapters());  // the trainer's default
  // Words that name a strategy are those of version 1.
  EXPECT_GT(execution(fsdp).adapter_gather_seconds(), 0);
  EXPECT_EQ(execution(", \"fsdp\": true").adapter_gather_seconds(), 0);
  EXPECT_GT(execution(", \"fsdp\": \"hybrid_shard auto_wrap\"").adapter_gather_seconds(), 0);
  const UserRun whole = TrainerRun({ArgumentsWith(fsdp + R"(, "fsdp_config": {"version": 1})")});
  EXPECT_FALSE(whole.job.training().execution().has_adapter_gather_seconds());
}

// Hybrid strategies shard within a node and copy between nodes.
TEST(HuggingFaceFsdpTest, HybridStrategiesShardWithinANode) {
  JobFlags flags;
  flags.gpus = {32};
  UserRun run = FsdpRun("\"hybrid_shard auto_wrap\"", "{}", flags);
  EXPECT_EQ(run.job.training().zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(run.job.training().zero_group(), 8);
  EXPECT_TRUE(Assumes(run, "nodes of 8 GPUs"));
  EXPECT_TRUE(Assumes(run, "version 1"));
  flags.gpus_per_node = 4;
  run = FsdpRun("\"hybrid_shard_zero2 auto_wrap\"", "{\"version\": 1}", flags);
  EXPECT_EQ(run.job.training().zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_EQ(run.job.training().zero_group(), 4);
  EXPECT_FALSE(Assumes(run, "version 1"));
  flags.gpus = {30};
  flags.gpus_per_node.reset();
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"fsdp\": \"hybrid_shard\"")}, flags).find("whole nodes"),
            std::string::npos);
}

TEST(HuggingFaceFsdpTest, AShareOfTheOptimizerIsANumber) {
  JobFlags flags;
  flags.offload_optimizer = "auto";
  EXPECT_NE(RefusalOf({ArgumentsWith("")}, flags)
                .find("--offload-optimizer auto: --from evaluates one share: give it, such as 1"),
            std::string::npos);
}

// accelerate looks up ShardingStrategy["FALSE"] in version 1, and there is none.
TEST(HuggingFaceFsdpTest, ATruthValueIsRefusedWhereTheVersionIsTakenToBeOne) {
  for (const char* const value : {"false", "true"})
    EXPECT_NE(FsdpRefusal("\"full_shard auto_wrap\"",
                          std::string("{\"reshard_after_forward\": ") + value + "}")
                  .find(std::string("fsdp_config.reshard_after_forward ") + value +
                        ": needs version 2 of FSDP, and it is 1 unless said"),
              std::string::npos)
        << value;
}

// Version 1 takes a strategy, version 2 a truth value, which comes before the words.
TEST(HuggingFaceFsdpTest, ReshardIsAStrategyOrATruthValueByVersion) {
  const auto stage = [](const std::string& config, const std::string& fsdp = "true") {
    return FsdpRun(fsdp, config).job.training().zero_stage();
  };
  EXPECT_EQ(stage("{\"version\": 2}"), v1::ZERO_STAGE_3);
  EXPECT_EQ(stage("{\"reshard_after_forward\": true}"), v1::ZERO_STAGE_3);
  EXPECT_EQ(stage("{\"reshard_after_forward\": false}"), v1::ZERO_STAGE_2);
  EXPECT_EQ(stage("{\"fsdp_version\": 2, \"fsdp_reshard_after_forward\": false}"),
            v1::ZERO_STAGE_2);
  EXPECT_EQ(stage("{\"version\": 2, \"reshard_after_forward\": false}", "\"full_shard\""),
            v1::ZERO_STAGE_2);
  EXPECT_EQ(stage("{\"version\": 1, \"reshard_after_forward\": \"FULL_SHARD\"}"), v1::ZERO_STAGE_3);
  EXPECT_EQ(stage("{\"version\": 1, \"reshard_after_forward\": \"SHARD_GRAD_OP\"}"),
            v1::ZERO_STAGE_2);
  EXPECT_EQ(stage("{\"version\": 1, \"reshard_after_forward\": \"NO_SHARD\"}"), v1::ZERO_STAGE_0);
  EXPECT_EQ(stage("{\"version\": 1, \"reshard_after_forward\": \"HYBRID_SHARD\"}"),
            v1::ZERO_STAGE_3);
  EXPECT_EQ(stage("{\"version\": 1, \"reshard_after_forward\": \"hybrid_shard_zero2\"}"),
            v1::ZERO_STAGE_2);
  const std::pair<const char*, const char*> refused[] = {
      {"{\"version\": 1, \"reshard_after_forward\": true}", "with version 1 full_shard"},
      {"{\"version\": 2, \"reshard_after_forward\": \"FULL_SHARD\"}", "with version 2"},
      {"{\"reshard_after_forward\": \"new_shard\"}", "must be true or false"},
      {"{\"version\": 3}", "must be from 1 to 2"},
      {"{\"auto_wrap_policy\": \"NO_WRAP\"}", "layer by layer"},
      {"{\"sharding_strategy\": \"FULL_SHARD\"}", "which transformers does not read"},
      {"{\"offload_params\": true}", "which transformers does not read"},
      {"{\"xla\": true}", "XLA"}};
  for (const auto& [bad, why] : refused)
    EXPECT_NE(FsdpRefusal("true", bad).find(why), std::string::npos) << bad;
  EXPECT_NE(FsdpRefusal("\"hybrid_shard\"", "{\"version\": 2}").find("version 1"),
            std::string::npos);
  EXPECT_NE(FsdpRefusal("\"no_shard\"", "{\"version\": 2}").find("version 1"), std::string::npos);
}

TEST(HuggingFaceFsdpTest, ConfigKeepsWeightsOnTheHost) {
  EXPECT_NE(FsdpRefusal("\"shard_grad_op offload\"", "{}").find("full_shard"), std::string::npos);
  EXPECT_TRUE(FsdpRun("true", "{\"cpu_offload\": true}").job.training().offload().weights());
  EXPECT_FALSE(FsdpRun("true", "{\"cpu_offload\": false}").job.training().offload().weights());
  const UserRun unused = FsdpRun("false", "{\"cpu_offload\": true}");
  EXPECT_FALSE(unused.job.training().offload().weights());
  EXPECT_TRUE(Assumes(unused, "fsdp is off"));
}

// --zero says how much is sharded, not where states are nor what the engine is.
TEST(HuggingFaceFsdpTest, TheFlagOfZeroChangesTheStageAlone) {
  JobFlags flags;
  flags.zero = 2;
  const UserRun run = FsdpRun("\"full_shard offload\"", "{}", flags);
  EXPECT_EQ(run.job.training().zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_TRUE(run.job.training().offload().weights());
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"fsdp\": \"full_shard\", \"deepspeed\": "
                                     "{\"zero_optimization\": {\"stage\": 3}}")},
                      flags)
                .find("must be unset with deepspeed"),
            std::string::npos);
}

TEST(HuggingFaceFsdpTest, RecomputeIsFsdpsOwnOrTheModels) {
  const auto kind = [](const std::string& more) {
    return TrainerRun({ArgumentsWith(more)}).recompute.kind;
  };
  const std::string config = ", \"fsdp_config\": {\"activation_checkpointing\": true}";
  EXPECT_EQ(kind(", \"fsdp\": \"full_shard\"" + config), Recompute::Kind::kEvery);
  EXPECT_EQ(kind(config), Recompute::Kind::kNone) << "without fsdp";
  EXPECT_EQ(kind(", \"activation_checkpointing\": true"), Recompute::Kind::kEvery);
  EXPECT_NE(
      RefusalOf({ArgumentsWith(", \"fsdp\": true, \"gradient_checkpointing\": true" + config)})
          .find("the Trainer refuses this with activation_checkpointing"),
      std::string::npos);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"fsdp\": true, \"max_length\": 512" + config)})
                .find("gradient_checkpointing, which is TRL's default"),
            std::string::npos);
  const UserRun run =
      TrainerRun({ArgumentsWith(", \"fsdp\": \"full_shard\", \"gradient_checkpointing\": true")});
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery);
}

TEST(HuggingFaceFsdpTest, OnlyAReentrantCheckpointGathersTwice) {
  const auto twice = [](const std::string& more) {
    const UserRun run = TrainerRun({ArgumentsWith(", \"fsdp\": \"full_shard\"" + more)});
    return run.job.training().execution().gathers_to_recompute();
  };
  const std::string own = ", \"gradient_checkpointing\": true";
  const std::string reentrant = ", \"gradient_checkpointing_kwargs\": {\"use_reentrant\": ";
  EXPECT_TRUE(twice(own + reentrant + "true}"));
  EXPECT_FALSE(twice(own + reentrant + "false}"));
  EXPECT_FALSE(twice(own)) << "transformers 5";
  EXPECT_FALSE(twice(", \"fsdp_config\": {\"activation_checkpointing\": true}"));
}

TEST(HuggingFaceFsdpTest, EveryNthLayerOfTheWholeModelRecomputes) {
  const UserRun run = TrainerRun(
      {ArgumentsWith(", \"activation_checkpointing\": true, \"activation_checkpointing_kwargs\": "
                     "{\"every_n_layers\": 3, \"use_reentrant\": false}")});
  ModelLayers layers(2, v1::LAYER_KIND_ENCODER);
  layers.resize(8, v1::LAYER_KIND_DENSE);
  std::vector<int> recomputed;
  int position = 0;
  const v1::EvaluatePlanRequest request = RequestOf(run, layers, /*evaluate_only=*/false);
  for (const v1::LayerGroup& group : request.plan().stages(0).layers()) {
    if (group.recomputed_size() > 0) recomputed.push_back(position);
    position += group.layer_count();
  }
  EXPECT_EQ(recomputed, (std::vector<int>{0, 3, 6}));
}

TEST(HuggingFaceFsdpTest, ConfigMayNameAFile) {
  const std::string path = testing::TempDir() + "/evenkeel_fsdp.json";
  std::ofstream(path) << "{\"fsdp_version\": 2, \"reshard_after_forward\": false}";
  EXPECT_EQ(FsdpRun("true", "\"" + path + "\"").job.training().zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_NE(FsdpRefusal("true", "\"no-such.json\"").find("there is no file"), std::string::npos);
}

UserRun EngineRun(const std::string& zero, const std::string& more = "", JobFlags flags = {}) {
  return TrainerRun(
      {ArgumentsWith(", \"deepspeed\": {\"zero_optimization\": {" + zero + "}" + more + "}")},
      std::move(flags));
}

int64_t BucketBytes(const UserRun& run) { return run.job.training().execution().bucket_bytes(); }

// Two buckets reduce and one gathers, of 16-bit values; stage 3 has one.
TEST(HuggingFaceFsdpTest, BucketsOfDeepSpeed) {
  EXPECT_EQ(BucketBytes(EngineRun("\"stage\": 2")), 0) << "the trainer's";
  EXPECT_EQ(BucketBytes(EngineRun("\"stage\": 2, \"reduce_bucket_size\": 1e8, "
                                  "\"allgather_bucket_size\": 2e8")),
            800000000);
  EXPECT_EQ(BucketBytes(EngineRun("\"stage\": 2, \"reduce_bucket_size\": 5e8")), 3000000000);
  EXPECT_EQ(BucketBytes(EngineRun("\"stage\": 3, \"reduce_bucket_size\": 5e8, "
                                  "\"allgather_bucket_size\": 2e8")),
            1000000000);
}

// "auto" is the square of the width, from wherever the model comes.
TEST(HuggingFaceFsdpTest, BucketsAreAsWideAsTheModel) {
  const std::string automatic = "\"stage\": 3, \"reduce_bucket_size\": \"auto\"";
  UserRun run = EngineRun(automatic);
  EXPECT_EQ(BucketBytes(run), 2 * 4096 * 4096);
  EXPECT_TRUE(Assumes(run, "16777216"));
  JobFlags flags;
  flags.model = testing::TempDir() + "/evenkeel_width.json";
  const auto bytes = [&](const std::string& text) {
    std::ofstream(flags.model) << text;
    return BucketBytes(EngineRun(automatic, "", flags));
  };
  EXPECT_EQ(bytes("{\"model_type\": \"llama\", \"hidden_size\": 1024}"), 2 * 1024 * 1024);
  EXPECT_EQ(bytes("{\"model_type\": \"x\", \"text_config\": {\"hidden_size\": 512}}"),
            2 * 512 * 512);
  EXPECT_EQ(bytes("{\"model_type\": \"gpt2\", \"n_embd\": 768}"), 2 * 768 * 768);
  EXPECT_EQ(bytes("{\"model_type\": \"x\"}"), 0);
  flags.model = "Qwen/Qwen2.5-VL-3B-Instruct";
  EXPECT_EQ(BucketBytes(EngineRun(automatic, "", flags)), 2 * 2048 * 2048);
}

TEST(HuggingFaceFsdpTest, OlderNamesOfDeepSpeedsOffload) {
  const auto ratio = [](const std::string& value) {
    return EngineRun("\"stage\": 2, \"cpu_offload\": " + value).job.training().offload();
  };
  EXPECT_EQ(ratio("true").optimizer_ratio(), 1);
  EXPECT_FALSE(ratio("false").has_optimizer_ratio());
  for (const std::string name : {"cpu_offload_param", "cpu_offload_params"}) {
    const auto weights = [&](const std::string& value) {
      return EngineRun("\"stage\": 3, \"cpu_offload\": true, \"" + name + "\": " + value)
          .job.training()
          .offload()
          .weights();
    };
    EXPECT_TRUE(weights("true")) << name;
    EXPECT_FALSE(weights("false")) << name;
  }
}

// As the Trainer does, refuses numbers that differ from the arguments.
TEST(HuggingFaceFsdpTest, DeepSpeedAndArgumentsAgree) {
  const std::string stage = "\"stage\": 2";
  EXPECT_EQ(EngineRun(stage, ", \"train_micro_batch_size_per_gpu\": 4, \"train_batch_size\": 64")
                .job.training()
                .global_batch_samples(),
            64);
  EXPECT_EQ(EngineRun(stage,
                      ", \"gradient_accumulation_steps\": \"auto\", "
                      "\"train_batch_size\": \"auto\"")
                .job.training()
                .global_batch_samples(),
            64);
  for (const char* const bad :
       {", \"train_micro_batch_size_per_gpu\": 2", ", \"gradient_accumulation_steps\": 4",
        ", \"train_batch_size\": 32"})
    EXPECT_NE(RefusalOf({ArgumentsWith(", \"deepspeed\": {\"zero_optimization\": {" + stage + "}" +
                                       bad + "}")})
                  .find("\"auto\""),
              std::string::npos)
        << bad;
}

TEST(HuggingFaceFsdpTest, NumbersOfDeepSpeedAloneAreNoted) {
  const auto notes = [](const std::string& arguments) {
    return ReadConfigText(
               "{\"output_dir\": \"out\", \"bf16\": true, \"deepspeed\": "
               "{\"train_micro_batch_size_per_gpu\": 4}" +
                   arguments + "}",
               "args.json")
        .notes;
  };
  ASSERT_EQ(notes("").size(), 1u);
  EXPECT_NE(notes("")[0].find("which is 8 by default"), std::string::npos);
  EXPECT_TRUE(notes(", \"per_device_train_batch_size\": 4").empty());
}

TEST(HuggingFaceFsdpTest, AutoNeedsTheArguments) {
  try {
    ReadConfigText(
        "{\"train_micro_batch_size_per_gpu\": \"auto\", \"bf16\": {\"enabled\": \"auto\"}}",
        "ds.json");
    FAIL();
  } catch (const CommandError& error) {
    EXPECT_NE(std::string(error.what()).find("give its arguments (JSON, YAML or a script)"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace evenkeel::cli
