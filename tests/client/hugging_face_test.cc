// Tests what is read of Hugging Face's TrainingArguments and PEFT's adapter_config.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/exit_codes.h"
#include "client/cli/from/hugging_face.h"
#include "client/cli/from/read_config.h"
#include "client/cli/from/user_run.h"

namespace evenkeel::cli {
namespace {

UserRun TrainerRun(const std::vector<std::string>& texts, JobFlags flags = {}) {
  UserConfig config;
  for (const std::string& text : texts) {
    UserConfig next = ReadConfigText(text, "args.json", "");
    EXPECT_EQ(next.format, ConfigFormat::kHuggingFace) << text;
    if (&text == &texts.front())
      config = std::move(next);
    else
      Merge(std::move(next), &config);
  }
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  if (flags.model.empty()) flags.model = "llama3-8b";
  if (!flags.token_cap) flags.token_cap = 8192;
  return RunOf(config, flags);
}

std::string ArgumentsWith(const std::string& more) {
  return "{\"per_device_train_batch_size\": 4, \"gradient_accumulation_steps\": 2, "
         "\"bf16\": true" +
         more + "}";
}

TEST(HuggingFaceTest, ArgumentsArePaddedMicroBatches) {
  const UserRun run = TrainerRun({ArgumentsWith(
      ", \"gradient_checkpointing\": true, \"group_by_length\": true, \"num_train_epochs\": 2")});
  const v1::Training& training = run.job.training();
  EXPECT_EQ(run.micro_batch, 4);
  EXPECT_EQ(training.micro_batch_samples(), 4);
  EXPECT_EQ(training.global_batch_samples(), 64);
  EXPECT_TRUE(training.group_by_length());
  EXPECT_EQ(training.epochs(), 2);
  EXPECT_EQ(training.trainer().name(), "huggingface-trainer");
  EXPECT_EQ(training.zero_stage(), v1::ZERO_STAGE_0);
  EXPECT_EQ(training.optimizer(), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(training.precision(), v1::PRECISION_BF16);
  EXPECT_EQ(run.seq_length, 2048);
  EXPECT_EQ(run.recompute.kind, Recompute::Kind::kEvery);
  const ModelLayers layers(32, v1::LAYER_KIND_DENSE);
  const v1::EvaluatePlanRequest request = RequestOf(run, layers, /*pinned=*/false);
  EXPECT_FALSE(request.plan().has_batch_rule());
  EXPECT_EQ(request.job().training().micro_batch_samples(), 4);
  EXPECT_EQ(TrainerRun({ArgumentsWith("")}).recompute.kind, Recompute::Kind::kNone);
  EXPECT_EQ(TrainerRun({"{\"output_dir\": \"out\", \"fp16\": true}"}).micro_batch, 8);
  EXPECT_TRUE(TrainerRun({ArgumentsWith(", \"train_sampling_strategy\": \"group_by_length\"")})
                  .job.training()
                  .group_by_length());
  EXPECT_THROW(TrainerRun({ArgumentsWith(", \"train_sampling_strategy\": \"new\"")}), CommandError);
  EXPECT_THROW(TrainerRun({"{\"output_dir\": \"out\"}"}), CommandError) << "fp32";
  EXPECT_THROW(TrainerRun({ArgumentsWith(", \"packing\": true")}), CommandError);
  EXPECT_NO_THROW(TrainerRun({ArgumentsWith(", \"packing\": false, \"label_names\": []")}));
}

TEST(HuggingFaceTest, OptimizersByTheirNames) {
  const auto optimizer = [](const std::string& name) {
    return TrainerRun({ArgumentsWith(", \"optim\": \"" + name + "\"")}).job.training().optimizer();
  };
  EXPECT_EQ(optimizer("adamw_torch_fused"), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(optimizer("paged_adamw_8bit"), v1::OPTIMIZER_ADAM_8BIT_MOMENTS);
  EXPECT_EQ(optimizer("adafactor"), v1::OPTIMIZER_ADAFACTOR);
  EXPECT_THROW(optimizer("galore_adamw"), CommandError);
}

// What DeepSpeed's object leaves to the arguments ("auto") is theirs.
TEST(HuggingFaceTest, DeepSpeedIsAnObjectOrAFile) {
  const std::string engine =
      "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}, "
      "\"train_micro_batch_size_per_gpu\": \"auto\", \"train_batch_size\": \"auto\", "
      "\"bf16\": {\"enabled\": \"auto\"}}";
  const auto check = [](const UserRun& run) {
    EXPECT_EQ(run.micro_batch, 4);
    EXPECT_EQ(run.job.training().zero_stage(), v1::ZERO_STAGE_3);
    EXPECT_EQ(run.job.training().offload().optimizer_ratio(), 1);
    EXPECT_EQ(run.job.training().trainer().name(), "huggingface-trainer");
  };
  check(TrainerRun({ArgumentsWith(", \"deepspeed\": " + engine)}));
  const std::string path = testing::TempDir() + "/evenkeel_engine.json";
  std::ofstream(path) << engine;
  check(TrainerRun({ArgumentsWith(", \"deepspeed\": \"" + path + "\"")}));
  EXPECT_THROW(TrainerRun({ArgumentsWith(", \"deepspeed\": \"no-such.json\"")}), CommandError);
  EXPECT_THROW(TrainerRun({ArgumentsWith(", \"fsdp\": \"full_shard\", \"deepspeed\": " + engine)}),
               CommandError);
}

TEST(HuggingFaceTest, FsdpShardsAsItsWordsSay) {
  const auto training = [](const std::string& fsdp) {
    return TrainerRun({ArgumentsWith(", \"fsdp\": " + fsdp)}).job.training();
  };
  EXPECT_EQ(training("\"full_shard auto_wrap\"").zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(training("\"full_shard auto_wrap\"").trainer().name(), "pytorch-fsdp");
  EXPECT_EQ(training("true").zero_stage(), v1::ZERO_STAGE_3);
  EXPECT_EQ(training("[\"shard_grad_op\"]").zero_stage(), v1::ZERO_STAGE_2);
  EXPECT_TRUE(training("\"full_shard offload\"").offload().weights());
  EXPECT_EQ(training("\"\"").trainer().name(), "huggingface-trainer");
  EXPECT_THROW(training("\"new_shard\""), CommandError);
  EXPECT_EQ(TrainerRun({ArgumentsWith(", \"fsdp\": \"full_shard\", \"fsdp_config\": "
                                      "{\"activation_checkpointing\": true}")})
                .recompute.kind,
            Recompute::Kind::kEvery);
}

std::string AdapterWith(const std::string& more) {
  return "{\"peft_type\": \"LORA\", \"r\": 32, \"lora_alpha\": 16, \"lora_dropout\": 0.1, "
         "\"bias\": \"none\", \"base_model_name_or_path\": \"llama3-8b\"" +
         more + "}";
}

TEST(HuggingFaceTest, AdaptersTrainBesideFrozenWeights) {
  const UserRun run = TrainerRun(
      {ArgumentsWith(""),
       AdapterWith(
           ", \"target_modules\": [\"q_proj\", \"v_proj\", \"model.layers.mlp.down_proj\"], "
           "\"modules_to_save\": [\"embed_tokens\", \"lm_head\"]")});
  const v1::Model& model = run.job.model();
  EXPECT_EQ(model.language_model_train_mode(), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(model.lora().rank(), 32);
  EXPECT_EQ(model.lora().dropout_ratio(), .1);
  ASSERT_EQ(model.lora().targets_size(), 2);
  EXPECT_EQ(model.lora().targets(0), v1::LORA_TARGET_QKV);
  EXPECT_EQ(model.lora().targets(1), v1::LORA_TARGET_MLP_DOWN);
  EXPECT_TRUE(model.lora().train_embedding());
  EXPECT_TRUE(model.lora().train_head());
  EXPECT_EQ(std::count_if(run.assumed.begin(), run.assumed.end(),
                          [](const std::string& text) {
                            return text.find("beside k_proj too") != std::string::npos;
                          }),
            1);
  const std::string all = ", \"target_modules\": \"all-linear\"";
  EXPECT_EQ(TrainerRun({ArgumentsWith(""), AdapterWith(all)}).job.model().lora().targets_size(), 0);
  for (const char* const bad :
       {"", ", \"target_modules\": [\"c_proj_new\"]", ", \"target_modules\": \".*q_proj\"",
        ", \"target_modules\": [\"q_proj\"], \"modules_to_save\": [\"score\"]",
        ", \"target_modules\": [\"q_proj\"], \"rank_pattern\": {\"q_proj\": 4}"})
    EXPECT_THROW(TrainerRun({ArgumentsWith(""), AdapterWith(bad)}), CommandError) << bad;
  EXPECT_THROW(TrainerRun({ArgumentsWith(""), "{\"peft_type\": \"LOHA\", \"r\": 8}"}),
               CommandError);
}

TEST(HuggingFaceTest, FrozenWeightsAreAsTheModelSays) {
  const std::string adapter = AdapterWith(", \"target_modules\": \"all-linear\"");
  const auto format = [&](const std::string& quantised) {
    const std::string path = testing::TempDir() + "/evenkeel_config.json";
    std::ofstream(path) << "{\"model_type\": \"llama\", \"quantization_config\": " << quantised
                        << "}";
    JobFlags flags;
    flags.model = path;
    return TrainerRun({ArgumentsWith(""), adapter}, flags).job.model().lora().base_format();
  };
  EXPECT_EQ(format("{\"load_in_4bit\": true}"), v1::FROZEN_FORMAT_NF4);
  EXPECT_EQ(format("{\"load_in_4bit\": true, \"bnb_4bit_use_double_quant\": true}"),
            v1::FROZEN_FORMAT_NF4_DOUBLE);
  EXPECT_EQ(format("{\"quant_method\": \"fp8\"}"), v1::FROZEN_FORMAT_UNSPECIFIED);
  EXPECT_THROW(format("{\"load_in_8bit\": true}"), CommandError);
}

TEST(HuggingFaceTest, KeysThatAreNotKnownAreNamed) {
  const UserConfig config = ReadConfigText(
      ArgumentsWith(", \"learning_rate\": 1e-4, \"torch_compile\": true, \"new_thing\": 5"),
      "args.json", "huggingface");
  ASSERT_EQ(config.unknown.size(), 1u);
  EXPECT_EQ(config.unknown[0].key, "new_thing");
  ASSERT_EQ(config.not_predicted.size(), 1u);
  EXPECT_EQ(config.irrelevant, 1);
  EXPECT_THROW(ReadConfigText(ArgumentsWith(""), "args.json", "deepspeed"), CommandError);
}

}  // namespace
}  // namespace evenkeel::cli
