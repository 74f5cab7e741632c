// Tests what is read of LLaMA-Factory's and axolotl's configurations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_folder.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

constexpr char kFactoryLora[] =
    "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\nfinetuning_type: lora\n"
    "dataset: identity\ntemplate: llama3\nbf16: true\nlearning_rate: 1.0e-4\n";
constexpr char kAxolotlFull[] =
    "base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 2\n"
    "gradient_accumulation_steps: 4\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\n";

UserConfig ConfigOf(const std::string& yaml) {
  const TrainerFolder folder;
  return folder.Read("train.yaml", yaml);
}

// Returns the run on 8 GPUs, of a model with an encoder if one is named.
UserRun RunOfYaml(const std::string& yaml, const std::string& model = "") {
  JobFlags flags;
  flags.model = model.empty() ? "llama3-8b" : model;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  UserRun run = RunOf(ConfigOf(yaml), flags);
  ModelLayers layers(32, v1::LAYER_KIND_DENSE);
  if (!model.empty()) layers.insert(layers.begin(), v1::LAYER_KIND_ENCODER);
  AdaptToLayers(layers, &run);
  return run;
}

std::string YamlRefusal(const std::string& yaml) {
  try {
    RunOfYaml(yaml);
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

TEST(FrontEndsTest, LlamaFactoryHasItsOwnDefaults) {
  const UserConfig config = ConfigOf(kFactoryLora);
  EXPECT_TRUE(config.unknown.empty()) << config.unknown.front().key;
  ASSERT_NE(config.front_end, nullptr);
  EXPECT_STREQ(config.front_end->title, "LLaMA-Factory");
  const UserRun run = RunOfYaml(kFactoryLora);
  EXPECT_TRUE(run.adapters);
  EXPECT_EQ(run.job.model().language_model_train_mode(), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(run.job.model().lora().rank(), 8);
  EXPECT_EQ(run.job.model().lora().targets_size(), 0);  // all
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery);
  EXPECT_EQ(run.seq_length, 2048);
  EXPECT_EQ(run.micro_batch, 8);
  EXPECT_EQ(run.job.training().epochs(), 3);
}

// PyTorch's reentrant checkpoint repeats all of a layer.
TEST(FrontEndsTest, ReentrantCheckpointsRepeatWholeLayers) {
  const auto stops = [](const std::string& text) {
    const v1::Execution execution = RunOfYaml(text).job.training().execution();
    return execution.has_stops_recompute_early()
               ? std::optional<bool>(execution.stops_recompute_early())
               : std::nullopt;
  };
  EXPECT_EQ(stops(kFactoryLora), false);  // use_reentrant_gc is true unless it is set
  EXPECT_EQ(stops(std::string(kFactoryLora) + "use_reentrant_gc: false\n"), true);
  EXPECT_EQ(stops(kAxolotlFull), false);
  EXPECT_EQ(
      stops(std::string(kAxolotlFull) + "gradient_checkpointing_kwargs:\n  use_reentrant: false\n"),
      true);
}

TEST(FrontEndsTest, LlamaFactorySettingsAreTranslated) {
  const UserRun run = RunOfYaml(std::string(kFactoryLora) +
                                "lora_rank: 32\nlora_target: q_proj, v_proj\n"
                                "disable_gradient_checkpointing: true\nquantization_bit: 4\n"
                                "cutoff_len: 4096\nneat_packing: true\nflash_attn: fa2\n"
                                "enable_liger_kernel: true\nper_device_train_batch_size: 1\n");
  EXPECT_EQ(run.job.model().lora().rank(), 32);
  ASSERT_EQ(run.job.model().lora().targets_size(), 1);
  EXPECT_EQ(run.job.model().lora().targets(0), v1::LORA_TARGET_QKV);
  EXPECT_EQ(run.job.model().lora().base_format(), v1::FROZEN_FORMAT_NF4_DOUBLE);
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kNone);
  EXPECT_EQ(run.seq_length, 4096);
  EXPECT_EQ(run.job.training().micro_batch_samples(), 0);  // packs
  EXPECT_EQ(run.job.training().execution().attention_kernel(), v1::ATTENTION_KERNEL_FLASH_2);
  const UserRun full = RunOfYaml(
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\nbf16: true\n");
  EXPECT_FALSE(full.adapters);
}

TEST(FrontEndsTest, TheNameOfACheckpointSaysThatItHasFourBits) {
  for (const char* name :
       {"unsloth/Llama-3.2-1B-bnb-4bit", "unsloth/Llama-3.2-1B-unsloth-bnb-4bit"}) {
    const std::string model = std::string("model_name_or_path: ") + name + "\nbf16: true\n";
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    const UserRun run = RunOf(ConfigOf(model + "finetuning_type: lora\n"), flags);
    EXPECT_EQ(run.job.model().name(), "unsloth/Llama-3.2-1B");
    EXPECT_EQ(run.job.model().lora().base_format(), v1::FROZEN_FORMAT_NF4_DOUBLE);
    EXPECT_TRUE(
        Assumes(run, "frozen weights: 4 bits with double quantization, by the model's name"));
    EXPECT_THROW(RunOf(ConfigOf(model + "finetuning_type: full\n"), flags), CommandError);
  }
}

TEST(FrontEndsTest, WeightsMayHaveNoCopyInFp32) {
  const auto optimizer = [](const std::string& yaml) {
    const UserRun run = RunOfYaml(yaml);
    EXPECT_EQ(run.job.training().gradient_precision(), v1::GRADIENT_PRECISION_16BIT);
    EXPECT_TRUE(Assumes(run, "weights: in 16 bits, without a copy in fp32"));
    return run.job.training().optimizer();
  };
  const std::string factory =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\n";
  EXPECT_EQ(optimizer(kAxolotlFull), v1::OPTIMIZER_ADAM_16BIT);
  EXPECT_EQ(optimizer(kAxolotlFull + std::string("optimizer: adamw_bnb_8bit\n")),
            v1::OPTIMIZER_ADAM_8BIT);
  EXPECT_EQ(optimizer(factory + "pure_bf16: true\n"), v1::OPTIMIZER_ADAM_16BIT);
  EXPECT_EQ(RunOfYaml(factory + "bf16: true\n").job.training().optimizer(), v1::OPTIMIZER_ADAM);
  const std::string fsdp = kAxolotlFull + std::string("fsdp_version: 2\n");
  EXPECT_EQ(RunOfYaml(fsdp).job.training().optimizer(), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(optimizer(fsdp + "bf16: full\n"), v1::OPTIMIZER_ADAM_16BIT);
  EXPECT_TRUE(Assumes(RunOfYaml(kAxolotlFull + std::string("optimizer: lion_32bit\n")),
                      "optimizer: with a copy of the weights in fp32, which this run has not: "
                      "predicted memory is too high"));
}

TEST(FrontEndsTest, AxolotlsShardsAreItsGpus) {
  const auto gpus = [](const std::string& more, int32_t given) {
    JobFlags flags;
    flags.model = "llama3-8b";
    flags.gpu = "h100-sxm-80gb";
    if (given > 0) flags.gpus = {given};
    return RunOf(ConfigOf(kAxolotlFull + more), flags).job.cluster().pools(0).gpu_count();
  };
  const std::string shards = "fsdp_version: 2\ndp_shard_size: 16\n";
  EXPECT_EQ(gpus(shards, 0), 16);
  EXPECT_EQ(gpus(shards, 16), 16);
  EXPECT_THROW(gpus("fsdp_version: 2\n", 0), CommandError);
  EXPECT_THAT(YamlRefusal(kAxolotlFull + shards),
              testing::HasSubstr("dp_shard_size 16: must be the 8 GPUs of --gpus"));
  const std::string one = "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n";
  EXPECT_EQ(gpus(one + "dp_shard_size: 1\n", 8), 8) << "1 is unset";
  EXPECT_THAT(YamlRefusal(std::string(kAxolotlFull) + "dp_shard_size: 1\n"),
              testing::HasSubstr("dp_shard_size 1: must be the 8 GPUs"));
}

TEST(FrontEndsTest, AxolotlsTextAloneHasNoImages) {
  const UserRun text = RunOfYaml(kAxolotlFull, "gemma-3-12b");
  EXPECT_TRUE(text.fixed_lengths);
  EXPECT_EQ(text.job.model().encoder_train_mode(), v1::TRAIN_MODE_FROZEN);
  const UserRun images =
      RunOfYaml(kAxolotlFull + std::string("processor_type: AutoProcessor\n"), "gemma-3-12b");
  EXPECT_FALSE(images.fixed_lengths);
}

TEST(FrontEndsTest, PatternsOfModulesAreMatched) {
  const auto targets = [](const std::string& pattern) {
    return RunOfYaml(std::string(kAxolotlFull) +
                     "adapter: lora\nlora_r: 8\nlora_target_modules: '" + pattern + "'\n")
        .job.model()
        .lora()
        .targets_size();
  };
  EXPECT_EQ(targets(R"(model\.layers\.\d+\.(self_attn\.(q|k|v|o)_proj|mlp\.(gate|up|down)_proj))"),
            4);
  EXPECT_EQ(targets(R"(.*\.layers\.(3|7|11)\.self_attn\.(q|k|v)_proj|.*\.mlp\.down_proj)"), 2);
  EXPECT_THAT(YamlRefusal(std::string(kAxolotlFull) +
                          "adapter: lora\nlora_r: 8\nlora_target_modules: 'a(b'\n"),
              testing::HasSubstr("not yet: \"a(b\""));
}

TEST(FrontEndsTest, FrozenWeightsMayHaveEightBits) {
  const UserRun run = RunOfYaml(std::string(kAxolotlFull) +
                                "load_in_8bit: true\nadapter: lora\nlora_r: 8\n"
                                "optimizer: adamw_torch_4bit\n");
  EXPECT_EQ(run.job.model().lora().base_format(), v1::FROZEN_FORMAT_INT8);
  EXPECT_EQ(run.job.training().optimizer(), v1::OPTIMIZER_ADAM_8BIT_MOMENTS);
  EXPECT_EQ(RunOfYaml(std::string(kFactoryLora) + "quantization_bit: 8\nuse_muon: true\n")
                .job.model()
                .lora()
                .base_format(),
            v1::FROZEN_FORMAT_INT8);
}

TEST(FrontEndsTest, InputsOfRecomputedLayersMayBeInHostMemory) {
  for (const std::string& yaml :
       {kAxolotlFull + std::string("gradient_checkpointing: offload\n"),
        kAxolotlFull + std::string("gradient_checkpointing: true\nactivation_offloading: legacy\n"),
        kFactoryLora + std::string("use_unsloth_gc: true\n")}) {
    const UserRun run = RunOfYaml(yaml);
    EXPECT_EQ(run.job.training().offload().activation_layers(), 32) << yaml;
    EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery) << yaml;
  }
}

UserRun RunOfSwift(const std::string& arguments, const std::string& verb = "sft") {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  UserRun run = RunOf(TrainerFolder().Script("NPROC_PER_NODE=8 \\\nswift " + verb +
                                             " --model Qwen/Qwen2.5-7B-Instruct \\\n"
                                             "  --dataset a#500 b " +
                                             arguments + "\n"),
                      flags);
  AdaptToLayers(ModelLayers(28, v1::LAYER_KIND_DENSE), &run);
  return run;
}

TEST(FrontEndsTest, CommandsOfMsSwiftAreTranslated) {
  const UserRun lora = RunOfSwift("--max_length 4096");
  EXPECT_TRUE(lora.adapters);
  EXPECT_EQ(lora.job.model().name(), "Qwen/Qwen2.5-7B-Instruct");
  EXPECT_EQ(lora.job.model().lora().rank(), 8);
  EXPECT_EQ(lora.job.model().lora().targets_size(), 0);  // all
  EXPECT_EQ(lora.recompute.kind, Recompute::Kind::kEvery);
  EXPECT_EQ(lora.seq_length, 4096);
  EXPECT_EQ(lora.micro_batch, 1);
  const std::string full = "--train_type full --max_length 8192 --torch_dtype bfloat16 ";
  EXPECT_EQ(RunOfSwift(full).job.training().optimizer(), v1::OPTIMIZER_ADAM_16BIT);
  const UserRun zero =
      RunOfSwift(full + "--deepspeed zero3 --packing true --attn_impl flash_attn", "pt");
  EXPECT_FALSE(zero.adapters);
  EXPECT_EQ(zero.job.training().zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(zero.job.training().optimizer(), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(zero.job.training().micro_batch_samples(), 0);  // packs
  EXPECT_EQ(zero.job.training().execution().attention_kernel(), v1::ATTENTION_KERNEL_FLASH_2);
  const UserRun offloaded = RunOfSwift(full + "--deepspeed zero2_offload");
  EXPECT_EQ(offloaded.job.training().zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_EQ(offloaded.job.training().offload().optimizer_ratio(), 1);
  EXPECT_EQ(RunOfSwift("--max_length 2048 --quant_method bnb --quant_bits 4 --lora_rank 64")
                .job.model()
                .lora()
                .base_format(),
            v1::FROZEN_FORMAT_NF4_DOUBLE);
}

TEST(FrontEndsTest, LimitsThatImagesDoNotHaveAreNamed) {
  const std::string lora = std::string(kFactoryLora) + "cutoff_len: 1024\n";
  EXPECT_TRUE(Assumes(RunOfYaml(lora, "gemma-3-12b"),
                      "images and text, not cut: cutoff_len 1024 is not applied to it"));
  EXPECT_TRUE(Assumes(RunOfYaml(kFactoryLora, "gemma-3-12b"), "images and text, not cut; "));
}

TEST(FrontEndsTest, MsSwiftStartsAsManyProcessesAsItIsTold) {
  const TrainerFolder folder;
  const auto read = [&](const std::string& before, const std::string& more = "") {
    return folder.Script(before +
                         "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type lora "
                         "--torch_dtype bfloat16 --per_device_train_batch_size 1 " +
                         more + "\n");
  };
  const auto refusal = [&](const std::string& before) -> std::string {
    try {
      read(before);
    } catch (const CommandError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 "), "");
  EXPECT_THAT(refusal("CUDA_VISIBLE_DEVICES=0,1 "),
              testing::HasSubstr("layers over the 2 GPUs of each process (device_map)"));
  EXPECT_THAT(refusal("NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1,2,3 "),
              testing::HasSubstr("layers over the 2 GPUs"));
  EXPECT_TRUE(read("NPROC_PER_NODE=4 ").Has(Field::kGpusPerNode));
  EXPECT_TRUE(read("", "--use_cce true").On(Field::kCutsLoss));
  const UserConfig images = read("NPROC_PER_NODE=8 MAX_PIXELS=1003520 ");
  ASSERT_EQ(images.not_predicted.size(), 1u);
  EXPECT_EQ(Describe(images.not_predicted[0].first), "run.sh:1: MAX_PIXELS 1003520");
}

TEST(FrontEndsTest, AYamlOfMsSwiftTakesItsVariables) {
  const TrainerFolder folder;
  const std::string yaml =
      folder.Write("swift.yaml", "model: Qwen/Qwen2.5-7B\ntuner_type: lora\nmax_length: 512\n");
  const auto read = [&](const Environment& all) { return ReadUserConfig({yaml}, {}, all); };
  EXPECT_EQ(read({{"NPROC_PER_NODE", "4"}}).Int(Field::kGpusPerNode, 0, 1, 64), 4);
  EXPECT_EQ(read({{"MAX_PIXELS", "9"}}).not_predicted.size(), 1u);
  EXPECT_THROW(read({{"CUDA_VISIBLE_DEVICES", "0,1"}}), CommandError);
  EXPECT_THROW(read({{"TP", "4"}}), CommandError);
}

TEST(FrontEndsTest, WhatMsSwiftDoesOtherwiseIsRefused) {
  const std::pair<const char*, const char*> refused[] = {
      {"--max_length 2048 --train_type longlora", "accepted: lora, full"},
      {"--max_length 2048 --sequence_parallel_size 4", "ranks that share a sequence"},
      {"--max_length 2048 --quant_method hqq --quant_bits 4", "accepted: bnb"},
      {"--max_length 2048 --torch_dtype float32", "accepted: bfloat16, float16"},
      {"", "does not say how long a sequence is"}};
  for (const auto& [arguments, why] : refused) {
    try {
      RunOfSwift(arguments);
      ADD_FAILURE() << arguments;
    } catch (const CommandError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
    }
  }
  EXPECT_THROW(RunOfSwift("--max_length 2048 --rlhf_type dpo", "rlhf"), CommandError);
}

TEST(FrontEndsTest, ConfigurationsOfOtherProgramsAreNamed) {
  EXPECT_THAT(YamlRefusal("model: Qwen/Qwen3-0.6B\ndist_config:\n  name: fsdp2\nbf16: true\n"),
              testing::HasSubstr("LLaMA-Factory v1"));
}

TEST(FrontEndsTest, LlamaFactoryJoinsTheTextThatItPretrainsOn) {
  const std::string pretraining =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\nstage: pt\n"
      "bf16: true\n";
  EXPECT_EQ(RunOfYaml(pretraining).job.training().micro_batch_samples(), 0);  // packs
  EXPECT_TRUE(RunOfYaml(pretraining).fixed_lengths);
  EXPECT_GT(RunOfYaml(pretraining + "packing: false\n").job.training().micro_batch_samples(), 0);
}

// As in its examples for Qwen2.5-VL, which train only the language model.
TEST(FrontEndsTest, LlamaFactoryFreezesEncodersUnlessTold) {
  const std::string full =
      "model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct\nfinetuning_type: full\nbf16: true\n";
  const UserRun run = RunOfYaml(full, "qwen2.5-vl-7b");
  EXPECT_EQ(run.job.model().encoder_train_mode(), v1::TRAIN_MODE_FROZEN);
  EXPECT_TRUE(Assumes(run, "encoders: frozen, LLaMA-Factory's default"));
  EXPECT_NE(RunOfYaml(full + "freeze_vision_tower: false\n", "qwen2.5-vl-7b")
                .job.model()
                .encoder_train_mode(),
            v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(RunOfYaml(full + "freeze_vision_tower: true\n", "qwen2.5-vl-7b")
                .job.model()
                .encoder_train_mode(),
            v1::TRAIN_MODE_FROZEN);
}

TEST(FrontEndsTest, AxolotlHasItsOwnDefaults) {
  const UserConfig config = ConfigOf(kAxolotlFull);
  EXPECT_TRUE(config.unknown.empty()) << config.unknown.front().key;
  ASSERT_NE(config.front_end, nullptr);
  EXPECT_STREQ(config.front_end->title, "axolotl");
  const UserRun run = RunOfYaml(kAxolotlFull);
  EXPECT_FALSE(run.adapters);
  EXPECT_EQ(run.micro_batch, 2);
  EXPECT_EQ(run.job.training().global_batch_samples(), 64);
  EXPECT_EQ(run.job.training().epochs(), 1);
  EXPECT_EQ(run.job.training().precision(), v1::PRECISION_BF16);
  EXPECT_EQ(run.seq_length, 512);
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kNone);
}

TEST(FrontEndsTest, AxolotlSettingsAreTranslated) {
  const UserRun run =
      RunOfYaml(std::string(kAxolotlFull) +
                "adapter: qlora\nload_in_4bit: true\nlora_r: 16\nlora_target_linear: true\n"
                "sequence_len: 4096\nsample_packing: true\npad_to_sequence_len: true\nbf16: auto\n"
                "gradient_checkpointing: true\nflash_attention: true\noptimizer: adamw_bnb_8bit\n"
                "num_epochs: 4\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n");
  EXPECT_TRUE(run.adapters);
  EXPECT_EQ(run.job.model().lora().rank(), 16);
  EXPECT_EQ(run.job.model().lora().base_format(), v1::FROZEN_FORMAT_NF4_DOUBLE);
  EXPECT_EQ(run.job.training().micro_batch_samples(), 0);  // packs
  EXPECT_EQ(run.seq_length, 4096);
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery);
  EXPECT_EQ(run.job.training().optimizer(), v1::OPTIMIZER_ADAM_8BIT_MOMENTS);
  EXPECT_EQ(run.job.training().zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(run.job.training().epochs(), 4);
  const UserRun padded = RunOfYaml(std::string(kAxolotlFull) + "pad_to_sequence_len: true\n");
  EXPECT_EQ(padded.job.training().padding().multiple(), 512);
}

// As of its examples for FSDP and vision-language models.
TEST(FrontEndsTest, AxolotlNamesStrategiesAndModulesInOtherWays) {
  const std::string sharded = "fsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n";
  const auto stage = [](const std::string& more) {
    return RunOfYaml(kAxolotlFull + more).job.training().zero_stage();
  };
  EXPECT_EQ(stage(sharded), v1::ZERO_STAGE_2);
  EXPECT_EQ(stage("fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"), v1::ZERO_STAGE_3);
  EXPECT_EQ(stage("fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n"
                  "  fsdp_sharding_strategy: FULL_SHARD\n"),
            v1::ZERO_STAGE_3);
  EXPECT_THAT(YamlRefusal(kAxolotlFull + std::string("fsdp:\n  - full_shard\n") + sharded),
              testing::HasSubstr("SHARD_GRAD_OP: differs from train.yaml"));
  EXPECT_FALSE(RunOfYaml(kAxolotlFull + std::string("lora_r: 8\n")).adapters);
  const UserRun run = RunOfYaml(
      std::string(kAxolotlFull) +
      "adapter: lora\nlora_r: 8\nattention: flash\nlora_target_modules: "
      "'language_model.model.layers.[\\d]+.(mlp|self_attn).(up|down|gate|q|k|v|o)_proj'\n");
  EXPECT_EQ(run.job.model().lora().targets_size(), 4);
  EXPECT_EQ(run.job.training().execution().attention_kernel(), v1::ATTENTION_KERNEL_FLASH_2);
}

TEST(FrontEndsTest, AdaptersHaveNoDropoutUnlessTold) {
  const std::string lora = std::string(kAxolotlFull) + "adapter: lora\nlora_r: 8\n";
  EXPECT_EQ(RunOfYaml(kFactoryLora).job.model().lora().dropout_ratio(), 0);
  EXPECT_EQ(RunOfYaml(lora).job.model().lora().dropout_ratio(), 0);
  EXPECT_NEAR(RunOfYaml(lora + "lora_dropout: 0.1\n").job.model().lora().dropout_ratio(), 0.1,
              1e-9);
}

TEST(FrontEndsTest, AxolotlTakesAllLinearLayersBesideOthers) {
  const UserRun run =
      RunOfYaml(std::string(kAxolotlFull) +
                "adapter: lora\nlora_r: 8\nlora_target_linear: true\nlora_target_modules:\n"
                "  - q_proj\n");
  EXPECT_EQ(run.job.model().lora().targets_size(), 0);  // all
}

TEST(FrontEndsTest, AxolotlDropsLongSamplesUnlessToldToCutThem) {
  EXPECT_TRUE(ConfigOf(kAxolotlFull).drops_samples);
  EXPECT_FALSE(
      ConfigOf(std::string(kAxolotlFull) + "excess_length_strategy: truncate\n").drops_samples);
  EXPECT_FALSE(ConfigOf(kFactoryLora).drops_samples);
}

TEST(FrontEndsTest, AxolotlsPluginTurnsItsLossOn) {
  const std::string plugin =
      "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n";
  const auto has = [](const std::string& more) {
    return ConfigOf(kAxolotlFull + more).On(Field::kLiger);
  };
  EXPECT_FALSE(has(""));
  EXPECT_TRUE(has(plugin));
  EXPECT_TRUE(has("cut_cross_entropy: true\n"));
  EXPECT_FALSE(has(plugin + "cut_cross_entropy: false\n"));
}

TEST(FrontEndsTest, NeatPackingPacks) {
  const UserRun run = RunOfYaml(std::string(kFactoryLora) + "packing: false\nneat_packing: true\n");
  EXPECT_EQ(run.job.training().micro_batch_samples(), 0);
}

TEST(FrontEndsTest, DefaultsAreListedInItsWords) {
  const auto notes = [](const std::string& yaml) {
    std::string all;
    for (const std::string& note : ConfigOf(yaml).notes) all += note + "\n";
    return all;
  };
  EXPECT_THAT(notes(kFactoryLora),
              testing::HasSubstr("cutoff_len 2048, lora_rank 8, lora_target all"));
  EXPECT_THAT(notes(kAxolotlFull), testing::HasSubstr("sequence_len 512, bf16 auto, num_epochs 1"));
}

TEST(FrontEndsTest, WhatIsNotPredictedIsRefusedInItsWords) {
  const auto refused = [](const char* text, const std::string& line, const std::string& why) {
    const std::string refusal = YamlRefusal(text + line + "\n");
    EXPECT_NE(refusal.find(line.substr(0, line.find(':'))), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(why), std::string::npos) << refusal;
  };
  refused(kFactoryLora, "use_galore: true", "not yet: this optimizer");
  refused(kFactoryLora, "use_asft_loss: true", "a loss with a reference or reward model");
  refused(kFactoryLora, "quantization_bit: 2", "accepted: 4, 8");
  refused(kFactoryLora, "pipeline_model_parallel_size: 4", "ranks that share a sequence");
  refused(kFactoryLora, "flash_attn: fa9", "must be auto, disabled, sdpa or fa2");
  refused(kAxolotlFull, "adapter: qlora", "needs load_in_4bit true");
  refused(kAxolotlFull, "adapter: lora", "needs lora_r");
  refused(kAxolotlFull, "rl: dpo", "a loss with a reference or reward model");
  refused(kAxolotlFull, "adapter: llama-adapter", "accepted: lora, qlora");
  refused(kAxolotlFull, "gradient_checkpointing: offload_disk",
          "accepted are true, false, offload");
  refused(kAxolotlFull, "activation_offloading: true", "without gradient checkpointing");
  refused(kAxolotlFull, "tensor_parallel_size: 2", "ranks that share a sequence");
  refused(kAxolotlFull, "load_in_8bit: true", "weights of 4 or 8 bits train only with adapters");
  EXPECT_NE(YamlRefusal("model_name_or_path: a\nfinetuning_type: freeze\nbf16: true\n")
                .find("finetuning_type freeze: not yet: training of some weights alone"),
            std::string::npos);
  EXPECT_NE(YamlRefusal("model_name_or_path: a\nfinetuning_type: lora\nstage: dpo\n")
                .find("stage dpo: not yet: a loss with"),
            std::string::npos);
}

TEST(FrontEndsTest, LlamaFactorysKeysAreNotThoseOfAccelerate) {
  const UserConfig config = ConfigOf(std::string(kFactoryLora) + "fp8: true\nfp8_backend: te\n");
  ASSERT_EQ(config.not_predicted.size(), 2u);
  EXPECT_EQ(config.not_predicted[1].first.key, "fp8_backend");
}

TEST(FrontEndsTest, KeysThatAreNotKnownAreNamed) {
  const UserConfig config = ConfigOf(std::string(kAxolotlFull) + "my_new_key: 3\n");
  ASSERT_EQ(config.unknown.size(), 1U);
  EXPECT_EQ(config.unknown.front().key, "my_new_key");
}

}  // namespace
}  // namespace evenkeel::cli
