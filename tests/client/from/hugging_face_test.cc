// Tests what is read of Hugging Face's TrainingArguments and PEFT's adapter_config.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/merge_files.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/request_of.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

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
  const v1::EvaluatePlanRequest request = RequestOf(run, layers, /*evaluate_only=*/false);
  EXPECT_FALSE(request.plan().has_batch_rule());
  EXPECT_EQ(request.job().training().micro_batch_samples(), 4);
  EXPECT_EQ(TrainerRun({ArgumentsWith("")}).recompute.kind, Recompute::Kind::kNone);
  const UserRun eight = TrainerRun({"{\"output_dir\": \"out\", \"fp16\": true}"});
  EXPECT_EQ(eight.micro_batch, 8);
  EXPECT_TRUE(Assumes(eight, "of 8 samples, the default of per_device_train_batch_size"));
  EXPECT_FALSE(Assumes(run, "of 8 samples"));
  EXPECT_TRUE(TrainerRun({ArgumentsWith(", \"train_sampling_strategy\": \"group_by_length\"")})
                  .job.training()
                  .group_by_length());
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"train_sampling_strategy\": \"new\"")})
                .find("not yet: random, sequential or group_by_length"),
            std::string::npos);
  EXPECT_NE(RefusalOf({"{\"output_dir\": \"out\", \"max_steps\": 5}"})
                .find("args.json: not yet: the configuration "
                      "trains in fp32"),
            std::string::npos);
  EXPECT_NE(
      RefusalOf({"{\"max_steps\": 5, \"output_dir\": \"out\", \"torch_dtype\": \"bfloat16\"}"})
          .find("torch_dtype bfloat16: not yet: weights and states in 16 bits"),
      std::string::npos);
  const auto autocast = [](const std::string& more) {
    return TrainerRun({ArgumentsWith(more)}).job.training().execution().autocast();
  };
  EXPECT_TRUE(autocast(", \"torch_dtype\": \"float32\""));
  EXPECT_FALSE(autocast(", \"torch_dtype\": \"bfloat16\""));
  EXPECT_FALSE(autocast(""));
  const auto optimizer = [](const std::string& more) {
    return TrainerRun({ArgumentsWith(more)}).job.training().optimizer();
  };
  for (const char* const type : {"bfloat16", "torch.bfloat16", "float16", "auto"}) {
    const std::string more = ", \"torch_dtype\": \"" + std::string(type) + "\"";
    EXPECT_EQ(optimizer(more), v1::OPTIMIZER_ADAM_16BIT) << type;
    EXPECT_EQ(TrainerRun({ArgumentsWith(more)}).job.training().gradient_precision(),
              v1::GRADIENT_PRECISION_16BIT)
        << type;
  }
  EXPECT_EQ(optimizer(", \"torch_dtype\": \"float32\""), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(optimizer(", \"dtype\": \"bfloat16\", \"optim\": \"adamw_8bit\""),
            v1::OPTIMIZER_ADAM_8BIT);
  EXPECT_EQ(optimizer(", \"dtype\": \"bfloat16\", \"fsdp\": \"full_shard\""), v1::OPTIMIZER_ADAM)
      << "FSDP copies";
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"padding_free\": true")}).find("laid end to end"),
            std::string::npos);
  EXPECT_NO_THROW(TrainerRun({ArgumentsWith(", \"packing\": false, \"label_names\": []")}));
}

// LLaVA's sampler levels the ranks of a step and mixes lengths inside each micro-batch.
TEST(HuggingFaceTest, GroupsByModalityAreNoOrderByLength) {
  const std::string key = ", \"group_by_modality_length\": ";
  EXPECT_FALSE(TrainerRun({ArgumentsWith(key + "true")}).job.training().group_by_length());
  const UserConfig config = ReadConfigText(ArgumentsWith(key + "true"), "args.json");
  ASSERT_EQ(config.not_predicted.size(), 1u);
  EXPECT_NE(config.not_predicted[0].second.find("random order"), std::string::npos);
  EXPECT_TRUE(ReadConfigText(ArgumentsWith(key + "false"), "args.json").not_predicted.empty());
}

TEST(HuggingFaceTest, OptimizersByTheirNames) {
  const auto optimizer = [](const std::string& name) {
    return TrainerRun({ArgumentsWith(", \"optim\": \"" + name + "\"")}).job.training().optimizer();
  };
  EXPECT_EQ(optimizer("adamw_torch_fused"), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(optimizer("paged_adamw_8bit"), v1::OPTIMIZER_ADAM_8BIT_MOMENTS);
  EXPECT_EQ(optimizer("adafactor"), v1::OPTIMIZER_ADAFACTOR);
  EXPECT_EQ(optimizer("adamw_torch_8bit"), v1::OPTIMIZER_ADAM_8BIT_MOMENTS);
  EXPECT_EQ(optimizer("sgd"), v1::OPTIMIZER_SGD);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"optim\": \"galore_adamw\"")}).find("optim galore_adamw"),
            std::string::npos);
}

TEST(HuggingFaceTest, AdamThatIsNotFusedHoldsSquareRoots) {
  const auto bytes = [](const std::string& more) {
    const UserRun run = TrainerRun({ArgumentsWith(more)});
    return run.job.training().execution().update_parameter_bytes();
  };
  EXPECT_EQ(bytes(", \"optim\": \"adamw_torch\""), 4);
  EXPECT_EQ(bytes(", \"optim\": \"adamw_torch_fused\""), 0);
  EXPECT_EQ(bytes(""), 0);  // PyTorch from 2.8 on
  EXPECT_EQ(bytes(", \"optim\": \"adamw_torch\", \"fsdp\": \"full_shard auto_wrap\""), 4);
  EXPECT_EQ(bytes(", \"optim\": \"adamw_torch\", \"fsdp\": \"shard_grad_op\""), 4);
}

// Values that DeepSpeed's object leaves to the arguments ("auto") come from the arguments.
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
  EXPECT_TRUE(Assumes(run, "next to k_proj too"));
  const std::string all = ", \"target_modules\": \"all-linear\"";
  EXPECT_EQ(TrainerRun({ArgumentsWith(""), AdapterWith(all)}).job.model().lora().targets_size(), 0);
  const std::string target = ", \"target_modules\": [\"q_proj\"], ";
  const std::pair<std::string, const char*> refused[] = {
      {", \"target_modules\": [\"c_proj_new\"]", "\"c_proj_new\""},
      {", \"target_modules\": \".*new_proj\"", "target_modules"},
      {target + "\"modules_to_save\": [\"score\"]", "\"score\""},
      {target + "\"rank_pattern\": {\"q_proj\": 4}", "ranks that differ"},
      {target + "\"layers_to_transform\": [0]", "some layers alone"},
      {target + "\"layers_to_transform\": 0", "some layers alone"},
      {target + "\"trainable_token_indices\": [0]", "single tokens"}};
  for (const auto& [bad, why] : refused)
    EXPECT_NE(RefusalOf({ArgumentsWith(""), AdapterWith(bad)}).find(why), std::string::npos) << bad;
  EXPECT_NE(RefusalOf({ArgumentsWith(""), "{\"peft_type\": \"LOHA\", \"r\": 8}"}).find("only LORA"),
            std::string::npos);
}

// --freeze and --lora say how other components train; the adapter is the language model's unless
// they name it.
TEST(HuggingFaceTest, FlagsSayHowOtherComponentsTrain) {
  const std::vector<std::string> files = {ArgumentsWith(""),
                                          AdapterWith(", \"target_modules\": \"all-linear\"")};
  JobFlags flags;
  flags.lora = {"encoder"};
  v1::Model model = TrainerRun(files, flags).job.model();
  EXPECT_EQ(model.language_model_train_mode(), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(model.encoder_train_mode(), v1::TRAIN_MODE_LORA);
  flags = {};
  flags.freeze = {"encoder"};
  model = TrainerRun(files, flags).job.model();
  EXPECT_EQ(model.language_model_train_mode(), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(model.encoder_train_mode(), v1::TRAIN_MODE_FROZEN);
  flags.freeze = {"llm"};
  EXPECT_NE(RefusalOf(files, flags).find("--lora encoder"), std::string::npos);
  flags.lora = {"encoder"};
  model = TrainerRun(files, flags).job.model();
  EXPECT_EQ(model.language_model_train_mode(), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(model.encoder_train_mode(), v1::TRAIN_MODE_LORA);
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
  EXPECT_EQ(format("{\"load_in_8bit\": true}"), v1::FROZEN_FORMAT_INT8);
}

TEST(HuggingFaceTest, KeysThatAreNotKnownAreNamed) {
  const UserConfig config = ReadConfigText(
      ArgumentsWith(", \"learning_rate\": 1e-4, \"optim_args\": \"a=1\", \"new_thing\": 5"),
      "args.json", ConfigFormat::kHuggingFace);
  ASSERT_EQ(config.unknown.size(), 1u);
  EXPECT_EQ(config.unknown[0].key, "new_thing");
  ASSERT_EQ(config.not_predicted.size(), 1u);
  EXPECT_EQ(config.irrelevant, 1);
  // A key that no table names is not passed over, in any section.
  const UserConfig sections = ReadConfigText(
      ArgumentsWith(", \"fsdp_config\": {\"new\": 1, \"min_num_params\": 0}, "
                    "\"model_init_kwargs\": {\"new\": 1, \"use_cache\": false}, "
                    "\"accelerator_config\": {\"new\": 1, \"even_batches\": true}, "
                    "\"gradient_checkpointing_kwargs\": {\"new\": 1, \"use_reentrant\": true}"),
      "args.json");
  EXPECT_EQ(sections.unknown.size(), 4u);
  EXPECT_EQ(sections.irrelevant, 3);
  const auto predicted = [](const std::string& more) {
    return ReadConfigText(ArgumentsWith(more), "args.json").not_predicted.empty();
  };
  EXPECT_FALSE(predicted(", \"label_smoothing_factor\": 0.1"));
  EXPECT_TRUE(predicted(", \"label_smoothing_factor\": 0.0"));
  EXPECT_TRUE(TrainerRun({ArgumentsWith(", \"full_determinism\": true")})
                  .job.training()
                  .execution()
                  .deterministic());
  EXPECT_FALSE(TrainerRun({ArgumentsWith("")}).job.training().execution().deterministic());
  EXPECT_TRUE(predicted(", \"model_init_kwargs\": {\"torch_dtype\": \"bfloat16\"}"));
  const std::pair<const char*, const char*> refused[] = {
      {"\"model_init_kwargs\": {\"quantization_config\": {\"load_in_8bit\": true}}",
       "weights of 4 or 8 bits train only with adapters"},
      {"\"accelerator_config\": {\"split_batches\": true}", "divide among them"},
      {"\"num_generations\": 8", "a loss with"},
      {"\"gradient_checkpointing_kwargs\": {\"offload\": true}", "activations in host memory"},
      {"\"model_init_kwargs\": {\"attn_implementation\": \"new\"}", "supported are eager, sdpa"}};
  for (const auto& [setting, why] : refused)
    EXPECT_NE(RefusalOf({ArgumentsWith(std::string(", ") + setting)}).find(why), std::string::npos)
        << setting;
  const auto attention = [](const std::string& name) {
    return TrainerRun({ArgumentsWith(", \"model_init_kwargs\": {\"attn_implementation\": \"" +
                                     name + "\"}")})
        .job.training()
        .execution()
        .attention_kernel();
  };
  EXPECT_EQ(attention("eager"), v1::ATTENTION_KERNEL_UNFUSED);
  EXPECT_EQ(attention("flash_attention_2"), v1::ATTENTION_KERNEL_FLASH_2);
  EXPECT_EQ(attention("sdpa"), v1::ATTENTION_KERNEL_FLASH);
  EXPECT_EQ(attention("flash_attention_3"), v1::ATTENTION_KERNEL_FLASH);
  EXPECT_THROW(ReadConfigText(ArgumentsWith(""), "args.json", ConfigFormat::kDeepSpeed),
               CommandError);
}

TEST(HuggingFaceTest, TwoFilesOfOneKindAreRefused) {
  const std::string adapter = AdapterWith(", \"target_modules\": \"all-linear\"");
  EXPECT_NE(RefusalOf({ArgumentsWith(""), ArgumentsWith(", \"optim\": \"adafactor\"")})
                .find("has the arguments of the run already"),
            std::string::npos);
  EXPECT_NE(RefusalOf({ArgumentsWith(""), adapter, adapter}).find("has the adapters"),
            std::string::npos);
  // The arguments name the loaded model, in any order of the files.
  const std::string named = ArgumentsWith(", \"model_name_or_path\": \"qwen2.5-7b\"");
  for (const bool first : {true, false}) {
    UserConfig config = ReadConfigText(first ? named : adapter, "a.json");
    Merge(ReadConfigText(first ? adapter : named, "b.json"), &config);
    EXPECT_EQ(config.Text(Field::kModelName), "qwen2.5-7b");
    ASSERT_EQ(config.notes.size(), 1u);
    EXPECT_NE(config.notes[0].find("not "), std::string::npos);
  }
}

TEST(HuggingFaceTest, EpochsAreThreeUnlessSaid) {
  const auto epochs = [](const std::string& more, JobFlags flags = {}) {
    return TrainerRun({ArgumentsWith(more)}, flags).job.training().epochs();
  };
  EXPECT_EQ(epochs(""), 3);
  EXPECT_EQ(epochs(", \"num_train_epochs\": 10000"), 10000);
  EXPECT_EQ(epochs(", \"num_train_epochs\": 1.5"), 2);
  EXPECT_NE(RefusalOf({ArgumentsWith(", \"num_train_epochs\": 10001")}).find("to 10000"),
            std::string::npos);
  JobFlags flags;
  flags.epochs = 7;
  EXPECT_EQ(epochs(", \"num_train_epochs\": 2", flags), 7);
  // Steps come before epochs.
  const UserRun run = TrainerRun({ArgumentsWith(", \"max_steps\": 100")});
  EXPECT_EQ(run.job.training().epochs(), 1);
  EXPECT_EQ(run.job.dataset().histogram().sample_count(0), 6400);
  EXPECT_EQ(epochs(", \"max_steps\": -1"), 3);
}

// 128,256 rows of vocabulary are 32 times the width of 4,096.
TEST(HuggingFaceTest, TrlsLossHoldsTheLogitsOf256Tokens) {
  const auto run = [](const std::string& more) { return TrainerRun({ArgumentsWith(more)}); };
  const auto bytes = [](const UserRun& of) {
    return of.job.training().execution().loss_logit_bytes();
  };
  const std::string trl = ", \"max_length\": 2048";
  const UserRun own = run(trl);
  EXPECT_EQ(bytes(own), 14. * 256 / (2048 * static_cast<double>(own.micro_batch)));
  EXPECT_TRUE(Assumes(own, "the default of TRL from 1.7 on"));
  const UserRun asked = run(trl + ", \"loss_type\": \"chunked_nll\"");
  EXPECT_EQ(bytes(asked), bytes(own));
  EXPECT_FALSE(Assumes(asked, "the default of TRL"));
  EXPECT_EQ(bytes(run(trl + ", \"loss_type\": \"nll\"")), 0);
  EXPECT_LT(bytes(run(trl + ", \"use_liger_kernel\": true")), 1);
  EXPECT_FALSE(Assumes(run(trl + ", \"use_liger_kernel\": true"), "chunked_nll"));
  EXPECT_EQ(bytes(run("")), 0);  // Hugging Face's Trainer alone
  const UserRun factory = RunOf(
      ReadConfigText("model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\ndo_train: true\n"
                     "finetuning_type: full\ntemplate: llama3\ndataset: d\ncutoff_len: 2048\n"
                     "output_dir: o\nper_device_train_batch_size: 1\nbf16: true\n",
                     "sft.yaml"),
      [] {
        JobFlags flags;
        flags.gpu = "h100-sxm-80gb";
        flags.gpus = {8};
        return flags;
      }());
  EXPECT_FALSE(Assumes(factory, "chunked_nll")) << "LLaMA-Factory has a loss of its own";
  EXPECT_NE(RefusalOf({ArgumentsWith(trl + ", \"loss_type\": \"new\"")}).find("chunked_nll, dft"),
            std::string::npos);
}

TEST(HuggingFaceTest, TorchCompileFusesKernels) {
  const auto fuses = [](const std::string& more) {
    return TrainerRun({ArgumentsWith(more)}).job.training().execution().fused_kernels();
  };
  EXPECT_TRUE(fuses(", \"torch_compile\": true"));
  EXPECT_FALSE(fuses(", \"torch_compile\": false"));
}

TEST(HuggingFaceTest, LigersLossHoldsAPartOfTheLogits) {
  const auto bytes = [](const std::string& more) {
    return TrainerRun({ArgumentsWith(more)}).job.training().execution().loss_logit_bytes();
  };
  EXPECT_EQ(bytes(""), 0) << "the trainer's";
  EXPECT_EQ(bytes(", \"use_liger_kernel\": true"), 6. / 32);
  EXPECT_EQ(bytes(", \"fsdp\": true, \"use_liger_kernel\": true"), 6. / 32);
  const auto norms = [](const std::string& more) {
    const v1::Execution e = TrainerRun({ArgumentsWith(more)}).job.training().execution();
    return e.fused_activation() && e.fused_rotary() ? e.rms_norm_bytes() : 0;
  };
  EXPECT_EQ(norms(", \"use_liger_kernel\": true"), 2);
  EXPECT_EQ(norms(""), 0);
  EXPECT_EQ(norms(", \"use_liger_kernel\": true, \"liger_kernel_config\": {\"rope\": false}"), 0);
  EXPECT_EQ(norms(", \"use_liger_kernel\": true, \"liger_kernel_config\": {\"swiglu\": false}"), 0);
  EXPECT_EQ(bytes(", \"use_liger_kernel\": true, \"liger_kernel_config\": "
                  "{\"fused_linear_cross_entropy\": false}"),
            0);
  JobFlags flags;
  flags.model = testing::TempDir() + "/evenkeel_no_width.json";
  std::ofstream(flags.model) << "{\"model_type\": \"x\"}";
  EXPECT_TRUE(Assumes(TrainerRun({ArgumentsWith(", \"use_liger_kernel\": true")}, flags),
                      "width or vocabulary is not known"));
}

TEST(HuggingFaceTest, GradientsOfPure16BitWeightsHave16Bits) {
  const std::string pure =
      "{\"per_device_train_batch_size\": 4, \"bf16\": false, \"dtype\": \"bfloat16\"}";
  const auto format = [&](const std::string& optimizer) {
    JobFlags flags;
    flags.precision = "bf16";
    flags.optimizer = optimizer;
    return TrainerRun({pure}, flags).job.training().gradient_precision();
  };
  EXPECT_EQ(format("adam-16bit"), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_EQ(format("adam"), v1::GRADIENT_PRECISION_UNSPECIFIED) << "the trainer's";
}

TEST(HuggingFaceTest, TheFlagOfMicroBatchesSetsTheBatch) {
  JobFlags flags;
  flags.micro_batch_samples = 1;
  const UserRun run = TrainerRun({ArgumentsWith("")}, flags);
  EXPECT_EQ(run.micro_batch, 1);
  EXPECT_EQ(run.job.training().micro_batch_samples(), 1);
  EXPECT_EQ(run.job.training().global_batch_samples(), 16);
}

}  // namespace
}  // namespace evenkeel::cli
