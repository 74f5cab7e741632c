// Tests which components of a model with encoders get adapters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/cli/base/command_error.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_folder.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

constexpr char kFactory[] =
    "model_name_or_path: Qwen/Qwen3-VL-4B-Instruct\nstage: sft\nfinetuning_type: lora\n"
    "cutoff_len: 2048\nbf16: true\n";

// Returns the run of a file on 8 GPUs, of a model with an encoder.
UserRun RunWithEncoder(const std::string& name, const std::string& text, JobFlags flags = {}) {
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  flags.model = "qwen2.5-vl-7b";
  const TrainerFolder folder;
  UserRun run = RunOf(folder.Read(name, text), flags);
  ModelLayers layers(28, v1::LAYER_KIND_DENSE);
  layers.insert(layers.begin(), v1::LAYER_KIND_ENCODER);
  AdaptToLayers(layers, &run);
  return run;
}

UserRun SwiftWithEncoder(const std::string& more) {
  return RunWithEncoder(
      "run.sh",
      "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --train_type lora "
      "--torch_dtype bfloat16 --max_length 4096 --dataset a " +
          more + "\n");
}

v1::TrainMode EncoderOf(const UserRun& run) { return run.job.model().encoder_train_mode(); }
v1::TrainMode LanguageOf(const UserRun& run) { return run.job.model().language_model_train_mode(); }

TEST(EncoderAdaptersTest, MsSwiftAddsThemToTheEncoderThatItDoesNotFreeze) {
  EXPECT_EQ(EncoderOf(SwiftWithEncoder("")), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(EncoderOf(SwiftWithEncoder("--freeze_vit true")), v1::TRAIN_MODE_FROZEN);
  const UserRun run = SwiftWithEncoder("--target_modules all-linear --freeze_vit False");
  EXPECT_EQ(EncoderOf(run), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(LanguageOf(run), v1::TRAIN_MODE_LORA);
  EXPECT_TRUE(Assumes(run, "encoders: adapters too (run.sh:1: --freeze_vit False)") ||
              Assumes(run, "encoders: adapters too (run.sh:1: freeze_vit False)"));
  EXPECT_EQ(EncoderOf(SwiftWithEncoder("--target_modules q_proj --freeze_vit false")),
            v1::TRAIN_MODE_FROZEN);
}

TEST(EncoderAdaptersTest, MsSwiftsLanguageModelMayHaveNone) {
  const UserRun run = SwiftWithEncoder("--freeze_vit false --freeze_llm true");
  EXPECT_EQ(EncoderOf(run), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(LanguageOf(run), v1::TRAIN_MODE_FROZEN);
  try {
    SwiftWithEncoder("--freeze_llm true");
    ADD_FAILURE() << "nothing has adapters";
  } catch (const CommandError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("freeze_llm true: not yet: no component has adapters then"));
  }
}

TEST(EncoderAdaptersTest, AProjectorWithAdaptersIsNamed) {
  const TrainerFolder folder;
  const UserConfig swift = folder.Script(
      "NPROC_PER_NODE=8 swift sft --model a --train_type lora --torch_dtype bfloat16 "
      "--max_length 4096 --per_device_train_batch_size 1 --freeze_aligner False\n");
  const UserConfig factory =
      folder.Read("train.yaml", std::string(kFactory) + "freeze_multi_modal_projector: false\n");
  for (const UserConfig& config : {swift, factory}) {
    ASSERT_EQ(config.not_predicted.size(), 1u);
    EXPECT_EQ(config.not_predicted[0].second, "the projector is taken to train in full");
  }
}

TEST(EncoderAdaptersTest, LlamaFactoryAddsThemToTheTowerThatItDoesNotFreeze) {
  const auto run = [](const std::string& more) {
    return RunWithEncoder("train.yaml", kFactory + more);
  };
  EXPECT_EQ(EncoderOf(run("")), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(EncoderOf(run("freeze_vision_tower: true\n")), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(EncoderOf(run("freeze_vision_tower: false\n")), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(LanguageOf(run("freeze_vision_tower: false\n")), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(LanguageOf(run("freeze_vision_tower: false\nfreeze_language_model: true\n")),
            v1::TRAIN_MODE_FROZEN);
  // Modules that are named may be those of the tower, too.
  const std::string named = "freeze_vision_tower: false\nlora_target: q_proj,v_proj\n";
  EXPECT_EQ(EncoderOf(run(named)), v1::TRAIN_MODE_FROZEN);
  const UserConfig config = TrainerFolder().Read("train.yaml", kFactory + named);
  ASSERT_EQ(config.not_predicted.size(), 1u);
  EXPECT_EQ(config.not_predicted[0].first.key, "freeze_vision_tower");
}

TEST(EncoderAdaptersTest, PeftsAllLinearTakesEncodersToo) {
  const auto trl = [](const std::string& targets, JobFlags flags = {}) {
    return RunWithEncoder("sft.yaml",
                          "model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct\nuse_peft: true\n"
                          "max_length: 4096\ngradient_accumulation_steps: 2\n"
                          "lora_target_modules: " +
                              targets + "\n",
                          flags);
  };
  EXPECT_EQ(EncoderOf(trl("all-linear")), v1::TRAIN_MODE_LORA);
  EXPECT_TRUE(Assumes(trl("all-linear"), "encoders: adapters too (sft.yaml:5: "));
  EXPECT_EQ(EncoderOf(trl("[q_proj, v_proj]")), v1::TRAIN_MODE_FROZEN);
  EXPECT_TRUE(
      Assumes(trl("[q_proj, v_proj]"),
              "without adapters, also on modules of theirs with the names that are listed"));
  JobFlags flags;
  flags.lora = {"llm"};
  EXPECT_EQ(EncoderOf(trl("all-linear", flags)), v1::TRAIN_MODE_FROZEN) << "flags win";
}

// Text gives an encoder no gradients.
TEST(EncoderAdaptersTest, AxolotlAddsThemWhereItReadsImages) {
  const std::string yaml =
      "base_model: Qwen/Qwen2.5-VL-7B-Instruct\nadapter: lora\nlora_r: 8\nmicro_batch_size: 1\n"
      "sequence_len: 4096\nlora_target_linear: true\ndatasets:\n  - path: a\n";
  EXPECT_EQ(EncoderOf(RunWithEncoder("train.yml", yaml)), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(EncoderOf(RunWithEncoder("train.yml", yaml + "processor_type: AutoProcessor\n")),
            v1::TRAIN_MODE_LORA);
}

}  // namespace
}  // namespace evenkeel::cli
