// Tests which adapters a configuration asks for, and which components it freezes.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/request_of.h"
#include "client/cli/from/run/run_of.h"
#include "tests/client/trainer_folder.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

// Returns the run of arguments of TRL's ModelConfig with a model.
UserRun PeftRun(const std::string& model, const std::string& more = ", \"use_peft\": true") {
  JobFlags flags;
  flags.model = model;
  return TrainerRun({ArgumentsWith(more)}, flags);
}

TEST(AdaptersTest, WithoutModulesPeftHasADefault) {
  for (const char* const model : {"Qwen/Qwen2-0.5B", "llama3-8b", "mistralai/Mistral-7B-v0.1"}) {
    const UserRun run = PeftRun(model);
    ASSERT_EQ(run.job.model().lora().targets_size(), 1) << model;
    EXPECT_EQ(run.job.model().lora().targets(0), v1::LORA_TARGET_QKV);
    EXPECT_TRUE(Assumes(run, "adapters: on q_proj and v_proj, PEFT's default for "));
    EXPECT_TRUE(Assumes(run, "next to k_proj too"));
  }
  EXPECT_FALSE(Assumes(PeftRun("gpt2"), "next to k_proj too"));
  const std::string path = testing::TempDir() + "/evenkeel_type.json";
  const auto typed = [&](const std::string& type) {
    std::ofstream(path) << "{\"model_type\": \"" << type << "\"}";
    JobFlags flags;
    flags.model = path;
    return flags;
  };
  EXPECT_EQ(TrainerRun({ArgumentsWith(", \"use_peft\": true")}, typed("phi"))
                .job.model()
                .lora()
                .targets_size(),
            3);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"use_peft\": true")}, typed("qwen3_moe"))
                .find("args.json:1: use_peft true: needs lora_target_modules, such as all-linear"),
            std::string::npos);
  EXPECT_NE(RefusalOf({ArgumentsWith(""), AdapterWith(", \"target_modules\": null")},
                      typed("deepseek_v3"))
                .find("peft_type LORA: needs target_modules"),
            std::string::npos);
  JobFlags flags;
  flags.model = "Qwen/Qwen3-30B-A3B";
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"use_peft\": true")}, flags).find("is not known here"),
            std::string::npos);
}

// Tensors that hold all experts are no linear layers, and PEFT turns only some types into them.
TEST(AdaptersTest, AllLinearLeavesOutExpertsThatAreNoLinearLayers) {
  const auto targets = [](const std::string& model, const std::string& modules) {
    const v1::Lora lora =
        PeftRun(model, ", \"use_peft\": true, \"lora_target_modules\": " + modules)
            .job.model()
            .lora();
    return std::vector<int>(lora.targets().begin(), lora.targets().end());
  };
  const std::vector<int> attention = {v1::LORA_TARGET_QKV, v1::LORA_TARGET_ATTENTION_OUT};
  for (const char* const model :
       {"openai/gpt-oss-20b", "meta-llama/Llama-4-Scout-17B-16E", "llama4-maverick",
        "Qwen/Qwen3-VL-30B-A3B-Instruct", "Qwen/Qwen3.5-35B-A3B"})
    EXPECT_EQ(targets(model, "\"all-linear\""), attention) << model;
  for (const char* const model : {"Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V3",
                                  "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen3-VL-4B-Instruct"})
    EXPECT_TRUE(targets(model, "\"all-linear\"").empty()) << model;
  const std::string all = ", \"use_peft\": true, \"lora_target_modules\": \"all-linear\"";
  EXPECT_TRUE(Assumes(PeftRun("openai/gpt-oss-20b", all),
                      "none on the experts, which are no linear layers in gpt_oss"));
  EXPECT_FALSE(Assumes(PeftRun("openai/gpt-oss-20b", all), "slightly too low"));
  EXPECT_TRUE(Assumes(PeftRun("llama4-scout", all), "time are slightly too low"));
}

TEST(AdaptersTest, OffloadOfActivationsNextToThemIsNamed) {
  const std::string full =
      "base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 1\nsequence_len: 512\n"
      "datasets:\n  - path: a\n";
  const std::string lora = full + "adapter: lora\nlora_r: 8\n";
  const std::string offload = "gradient_checkpointing: true\nactivation_offloading: true\n";
  const auto named = [](const std::string& yaml) {
    const UserConfig config = ReadConfigText(yaml, "train.yml");
    return config.not_predicted.size() == 1 &&
           config.not_predicted[0].second.find("recompute nothing") != std::string::npos;
  };
  EXPECT_TRUE(named(lora + offload));
  EXPECT_TRUE(named(lora + "gradient_checkpointing: offload\n"));
  EXPECT_FALSE(named(lora + "gradient_checkpointing: true\nactivation_offloading: false\n"));
  EXPECT_FALSE(named(full + offload));
}

// As in axolotl's example for SmolVLM2.
TEST(AdaptersTest, PatternsNameTheTextModelOfSmolVlm) {
  const UserRun run = PeftRun("llama3-8b",
                              ", \"use_peft\": true, \"lora_target_modules\": "
                              "\"model.text_model.layers.[\\\\d]+.(mlp|cross_attn|self_attn).(up|"
                              "down|gate|q|k|v|o)_proj\"");
  EXPECT_EQ(run.job.model().lora().targets_size(), 4);
}

TEST(AdaptersTest, NamesOfExpertsThatAreNoLinearLayersMatchNone) {
  const auto arguments = [](const std::string& modules) {
    return ArgumentsWith(", \"use_peft\": true, \"lora_target_modules\": " + modules);
  };
  JobFlags flags;
  flags.model = "openai/gpt-oss-20b";
  const UserRun run = TrainerRun({arguments("[\"q_proj\", \"gate_up_proj\"]")}, flags);
  ASSERT_EQ(run.job.model().lora().targets_size(), 1);
  EXPECT_EQ(run.job.model().lora().targets(0), v1::LORA_TARGET_QKV);
  EXPECT_TRUE(Assumes(run, "none on the experts"));
  EXPECT_NE(RefusalOf({arguments("[\"down_proj\"]")}, flags)
                .find("the experts of gpt_oss are no linear layers: none has adapters"),
            std::string::npos);
}

TEST(AdaptersTest, WhatAsksForAdaptersIsNotReadAsFullTraining) {
  for (const char* const setting :
       {"\"lora_r\": 8", "\"lora_dropout\": 0.1", "\"lora_target_modules\": [\"q_proj\"]",
        "\"lora_modules_to_save\": [\"lm_head\"]"}) {
    EXPECT_NE(
        RefusalOf({ArgumentsWith(std::string(", ") + setting)})
            .find("without use_peft: if the program adds adapters, give PEFT's "
                  "adapter_config.json by another --from; if it does not, say use_peft false"),
        std::string::npos)
        << setting;
    const UserRun off =
        TrainerRun({ArgumentsWith(std::string(", \"use_peft\": false, ") + setting)});
    EXPECT_TRUE(Assumes(off, "adapters: none, as use_peft is off")) << setting;
    EXPECT_FALSE(off.adapters);
  }
  for (const char* const setting :
       {"\"lora_enable\": true", "\"use_lora\": true", "\"q_lora\": true", "\"use_llm_lora\": 16",
        "\"use_backbone_lora\": 16"})
    EXPECT_NE(RefusalOf({ArgumentsWith(std::string(", ") + setting)})
                  .find("adapters that the program adds: give PEFT's adapter_config.json by "
                        "another --from"),
              std::string::npos)
        << setting;
  // FastChat's train_lora.py adds them for both values of q_lora.
  for (const char* const setting : {"\"q_lora\": false, \"lora_r\": 8", "\"q_lora\": false"})
    EXPECT_NE(RefusalOf({ArgumentsWith(std::string(", ") + setting)})
                  .find("without use_peft: if the program adds adapters, give PEFT's"),
              std::string::npos)
        << setting;
  EXPECT_TRUE(Assumes(
      TrainerRun({ArgumentsWith(", \"use_lora\": false, \"q_lora\": false, \"lora_r\": 8")}),
      "adapters: none, as use_lora is off"));
  for (const char* const setting :
       {"\"lora_enable\": false", "\"use_llm_lora\": 0", "\"bits\": 16"})
    EXPECT_FALSE(TrainerRun({ArgumentsWith(std::string(", ") + setting)}).adapters) << setting;
  EXPECT_NE(
      RefusalOf({ArgumentsWith(", \"bits\": 4")}).find("bits 4: weights of 4 or 8 bits train only"),
      std::string::npos);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"load_in_4bit\": true")}).find("with TRL set use_peft"),
            std::string::npos);
}

// The adapter's file has the settings that LLaVA's and FastChat's programs add.
TEST(AdaptersTest, TheFileSaysWhatTheProgramAdds) {
  const std::string adapter = AdapterWith(", \"target_modules\": \"all-linear\"");
  const auto lora = [&](const std::string& more) {
    return TrainerRun({ArgumentsWith(", " + more), adapter}).job.model().lora();
  };
  EXPECT_EQ(lora("\"lora_enable\": true").rank(), 32);
  EXPECT_EQ(lora("\"lora_enable\": true").base_format(), v1::FROZEN_FORMAT_UNSPECIFIED);
  EXPECT_EQ(lora("\"lora_enable\": true, \"bits\": 4").base_format(), v1::FROZEN_FORMAT_NF4_DOUBLE);
  EXPECT_EQ(lora("\"lora_enable\": true, \"bits\": 4, \"double_quant\": false").base_format(),
            v1::FROZEN_FORMAT_NF4);
  EXPECT_EQ(lora("\"q_lora\": true, \"lora_r\": 32").base_format(), v1::FROZEN_FORMAT_NF4_DOUBLE);
  EXPECT_EQ(lora("\"lora_enable\": true, \"bits\": 8").base_format(), v1::FROZEN_FORMAT_INT8);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"lora_enable\": true, \"bits\": 6"), adapter})
                .find("bits 6: not yet"),
            std::string::npos);
  EXPECT_NE(
      RefusalOf({ArgumentsWith(", \"use_backbone_lora\": 16"), adapter}).find("say --lora encoder"),
      std::string::npos);
}

// Returns a run of a model with encoders, with its layers.
UserRun EncoderRun(const std::vector<std::string>& texts, JobFlags flags = {}) {
  flags.model = "llava-1.5-13b";
  UserRun run = TrainerRun(texts, flags);
  ModelLayers layers(24, v1::LAYER_KIND_ENCODER);
  layers.insert(layers.end(), 40, v1::LAYER_KIND_DENSE);
  AdaptToLayers(layers, &run);
  return run;
}

// Returns the frozen parts of a run with encoders: language model, encoders.
std::vector<v1::TrainMode> FrozenBy(const std::string& more, const JobFlags& flags = {}) {
  const UserRun run = EncoderRun({ArgumentsWith(", " + more)}, flags);
  return {run.job.model().language_model_train_mode(), run.job.model().encoder_train_mode()};
}

TEST(ComponentsTest, ProgramsSayWhatIsFrozen) {
  constexpr v1::TrainMode kFull = v1::TRAIN_MODE_UNSPECIFIED, kFrozen = v1::TRAIN_MODE_FROZEN;
  using Modes = std::vector<v1::TrainMode>;
  EXPECT_EQ(FrozenBy("\"vision_tower\": \"clip\""), (Modes{kFull, kFrozen}));
  EXPECT_EQ(FrozenBy("\"vision_tower\": \"clip\", \"tune_mm_mlp_adapter\": true"),
            (Modes{kFrozen, kFrozen}));
  EXPECT_EQ(FrozenBy("\"vision_tower\": \"clip\", \"unfreeze_mm_vision_tower\": true"),
            (Modes{kFull, kFull}));
  EXPECT_EQ(FrozenBy("\"mm_tunable_parts\": \"mm_mlp_adapter,mm_language_model\""),
            (Modes{kFull, kFrozen}));
  EXPECT_EQ(FrozenBy("\"freeze_llm\": true, \"freeze_backbone\": false"), (Modes{kFrozen, kFull}));
  EXPECT_EQ(FrozenBy("\"tune_mm_llm\": true, \"tune_mm_vision\": false"), (Modes{kFull, kFrozen}));
  EXPECT_EQ(FrozenBy("\"vision_path\": \"x\""), (Modes{kFull, kFull}));
  JobFlags flags;
  flags.freeze = {"llm"};
  EXPECT_EQ(FrozenBy("\"vision_tower\": \"clip\"", flags), (Modes{kFrozen, kFull})) << "flags win";
}

// InternVL's "backbone" is the encoder. In LLaVA's program, it is the language model.
TEST(ComponentsTest, TheBackboneIsThatOfTheProgram) {
  constexpr v1::TrainMode kFull = v1::TRAIN_MODE_UNSPECIFIED, kFrozen = v1::TRAIN_MODE_FROZEN;
  using Modes = std::vector<v1::TrainMode>;
  EXPECT_EQ(FrozenBy("\"freeze_backbone\": true"), (Modes{kFull, kFrozen}));
  EXPECT_EQ(FrozenBy("\"vision_path\": \"x\", \"freeze_backbone\": true"), (Modes{kFull, kFrozen}));
  const std::string backbone = "\"vision_tower\": \"clip\", \"freeze_backbone\": true";
  EXPECT_EQ(FrozenBy(backbone), (Modes{kFrozen, kFrozen}));
  EXPECT_EQ(FrozenBy(backbone + ", \"unfreeze_mm_vision_tower\": true"), (Modes{kFrozen, kFull}));
  EXPECT_EQ(FrozenBy(backbone + ", \"mm_tunable_parts\": \"mm_language_model\""),
            (Modes{kFull, kFrozen}))
      << "parts come later";
  constexpr char kHead[] = "its head is taken to be frozen too";
  EXPECT_TRUE(Assumes(EncoderRun({ArgumentsWith(", " + backbone)}), kHead));
  EXPECT_FALSE(Assumes(
      EncoderRun({ArgumentsWith(", " + backbone + ", \"tune_mm_mlp_adapter\": true")}), kHead));
}

// Adapters of the language model do not affect an encoder that the configuration trains.
TEST(ComponentsTest, AnEncoderMayTrainBesideAdapters) {
  const std::string adapter = AdapterWith(", \"target_modules\": \"all-linear\"");
  const auto mode = [&](const std::string& more) {
    const UserRun run = EncoderRun({ArgumentsWith(", " + more), adapter});
    EXPECT_EQ(run.job.model().language_model_train_mode(), v1::TRAIN_MODE_LORA) << more;
    return run.job.model().encoder_train_mode();
  };
  EXPECT_EQ(mode("\"tune_mm_llm\": false, \"tune_mm_vision\": true"), v1::TRAIN_MODE_FULL);
  EXPECT_EQ(mode("\"use_llm_lora\": 16, \"freeze_backbone\": false"), v1::TRAIN_MODE_FULL);
  EXPECT_EQ(mode("\"vision_tower\": \"c\", \"unfreeze_mm_vision_tower\": true"),
            v1::TRAIN_MODE_FULL);
  EXPECT_EQ(mode("\"freeze_backbone\": true"), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(mode("\"vision_tower\": \"c\", \"freeze_backbone\": false"), v1::TRAIN_MODE_FROZEN)
      << "LLaVA's tower";
  EXPECT_EQ(mode("\"vision_path\": \"x\""), v1::TRAIN_MODE_FROZEN) << "nothing is said";
  // Qwen's program then reads none of tune_mm_*.
  EXPECT_EQ(mode("\"lora_enable\": true, \"tune_mm_vision\": true"), v1::TRAIN_MODE_FROZEN);
  EXPECT_TRUE(Assumes(EncoderRun({ArgumentsWith(", \"tune_mm_vision\": true"), adapter}),
                      "encoders: trained in full, as the configuration says"));
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"mm_tunable_parts\": \"mm_vision_tower\""), adapter})
                .find("mm_tunable_parts mm_vision_tower: not yet: with adapters"),
            std::string::npos);
}

// A frozen encoder has no backward pass in which it could recompute.
TEST(ComponentsTest, FrozenEncodersDoNotRecompute) {
  JobFlags flags;
  flags.model = "llava-1.5-13b";
  ModelLayers layers(24, v1::LAYER_KIND_ENCODER);
  layers.insert(layers.end(), 40, v1::LAYER_KIND_DENSE);
  for (const char* const every :
       {"", ", \"gradient_checkpointing_kwargs\": {\"every_n_layers\": 2}"}) {
    UserRun run = TrainerRun({ArgumentsWith(", \"vision_tower\": \"clip\", "
                                            "\"gradient_checkpointing\": true" +
                                            std::string(every))},
                             flags);
    AdaptToLayers(layers, &run);
    const v1::Stage stage = RequestOf(run, layers, /*evaluate_only=*/false).plan().stages(0);
    EXPECT_EQ(stage.layers(0).layer_count(), 24);
    EXPECT_EQ(stage.layers(0).recomputed_size(), 0);
    EXPECT_EQ(stage.layers(1).recomputed_size(), 1);
  }
}

TEST(ComponentsTest, AModelOfTextIsNoneWithEncoders) {
  const auto refusal = [](UserRun run) {
    try {
      AdaptToLayers(ModelLayers(32, v1::LAYER_KIND_DENSE), &run);
    } catch (const CommandError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(
      refusal(TrainerRun({ArgumentsWith(", \"vision_tower\": \"clip\"")}))
          .find("args.json:1: vision_tower clip: the model has an encoder, but \"llama3-8b\" is "
                "text alone: name the whole model by --model"),
      std::string::npos);
  EXPECT_EQ(refusal(TrainerRun({ArgumentsWith("")})), "");
  const std::string megatron =
      "torchrun --nproc_per_node 8 examples/multimodal/train.py --num-layers 4 --hidden-size 512 "
      "--num-attention-heads 8 --seq-length 128 --vocab-size 1000 --micro-batch-size 1 "
      "--global-batch-size 16 --bf16 ";
  EXPECT_NE(refusal(TrainerFolder().RunScript(megatron))
                .find("run.sh:1: examples/multimodal/train.py: the model has an encoder"),
            std::string::npos);
  const std::string other =
      "torchrun --nproc_per_node 8 train.py" + megatron.substr(megatron.find(" --num-layers"));
  EXPECT_EQ(refusal(TrainerFolder().RunScript(other)), "");
  for (const char* const argument : {"--vision-model-type clip", "--freeze-ViT"})
    EXPECT_NE(refusal(TrainerFolder().RunScript(other + argument))
                  .find(std::string("run.sh:1: ") + argument + ": the model has an encoder"),
              std::string::npos)
        << argument;
}

}  // namespace
}  // namespace evenkeel::cli
