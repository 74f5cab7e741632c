// Tests what is read of Megatron-Bridge's fields and of groups of micro-batches, and what is
// refused by the name of its trainer.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/recompute_of.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

TEST(MegatronFieldsTest, ConfigurationsOfOtherTrainersAreNamed) {
  const std::pair<const char*, const char*> files[] = {
      {"tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n", "torchtune"},
      {"from xtuner.v1.train import TrainerConfig\n", "XTuner"},
      {"python3 -m verl.trainer.fsdp_sft_trainer trainer.n_gpus_per_node=8\n", "verl"},
      {"model:\n  model_config:\n    hidden_size: 16\nparallelism:\n  dp: 2\ntokens:\n  a: 1\n",
       "nanotron"},
      {"exp_manager:\n  name: a\nmodel:\n  micro_batch_size: 4\n", "NeMo"},
      {"model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n",
       "NeMo AutoModel"},
      {"step_scheduler:\n  global_batch_size: 64\nmodel:\n  a: 1\ndistributed:\n  tp_size: 1\n",
       "NeMo AutoModel"}};
  for (const auto& [text, trainer] : files)
    EXPECT_NE(ReadingRefusal(text, "c.yaml")
                  .find(std::string("a configuration of ") + trainer + ", which is not read yet"),
              std::string::npos)
        << text;
}

TEST(MegatronFieldsTest, ReadsMegatronBridgesFields) {
  const std::string yaml =
      "_target_: megatron.bridge.training.config.ConfigContainer\n"
      "ddp:\n  use_distributed_optimizer: true\n  grad_reduce_in_fp32: false\n"
      "mixed_precision: bf16_with_mxfp8_mixed\n"
      "model:\n  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 14336\n"
      "  num_attention_heads: 32\n  num_query_groups: 8\n  gated_linear_unit: true\n"
      "  normalization: RMSNorm\n  share_embeddings_and_output_weights: false\n"
      "  pipeline_model_parallel_size: 4\n  virtual_pipeline_model_parallel_size: 2\n"
      "  seq_length: 8192\n  vocab_size: 128256\n"
      "train:\n  global_batch_size: 128\n  micro_batch_size: 1\n";
  const UserConfig config = ReadConfigText(yaml, "bridge.yaml");
  EXPECT_EQ(config.format, ConfigFormat::kMegatronBridge);
  EXPECT_TRUE(config.unknown.empty());
  JobFlags flags;
  flags.gpu = "b200-sxm-180gb";
  flags.gpus = {8};
  const UserRun run = RunOf(config, flags);
  EXPECT_EQ(run.job.model().name(), "llama3-8b (as described)");
  EXPECT_EQ(run.job.training().trainer().name(), "megatron-bridge");
  EXPECT_EQ(run.job.training().precision(), v1::PRECISION_MXFP8);
  EXPECT_EQ(run.job.training().gradient_precision(), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_EQ(run.degrees.virtual_stages(), 2);
  EXPECT_EQ(InSyntax(config.syntax, "--num-layers 2 --swiglu without --fp16 and --bf16"),
            "num_layers: 2, swiglu: true without fp16 and bf16");
}

constexpr char kSmallGpt[] =
    "--num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 2048 --swiglu --bf16 "
    "--micro-batch-size 1 --global-batch-size 8 --max-position-embeddings 2048 "
    "--vocab-size 32000 ";

v1::Execution ExecutionOf(const std::string& text, const std::string& path) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  return RunOf(ReadConfigText(text, path), flags).job.training().execution();
}

TEST(MegatronFieldsTest, APreciseOptimizerStoresRemainders) {
  const auto stores = [](const std::string& more) {
    return ExecutionOf(kSmallGpt + more, "args").stores_weight_remainders();
  };
  const std::string precise = "--use-distributed-optimizer --use-precision-aware-optimizer ";
  EXPECT_TRUE(stores(precise));
  EXPECT_TRUE(stores(precise + "--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"));
  EXPECT_FALSE(stores(precise + "--no-store-param-remainders"));
  EXPECT_FALSE(stores(""));
}

TEST(MegatronFieldsTest, ReadsFusionsThatAreOff) {
  const auto none_off = [](const v1::Execution& e) {
    return !e.has_fused_activation() && !e.has_fused_rotary() && e.fused_weight_gradients();
  };
  const auto all_off = [](const v1::Execution& e) {
    return e.has_fused_activation() && !e.fused_activation() && e.has_fused_rotary() &&
           !e.fused_rotary() && !e.fused_weight_gradients();
  };
  EXPECT_TRUE(none_off(ExecutionOf(kSmallGpt, "args")));
  EXPECT_TRUE(all_off(
      ExecutionOf(std::string(kSmallGpt) +
                      "--no-bias-swiglu-fusion --no-rope-fusion --no-gradient-accumulation-fusion",
                  "args")));
  const auto bridge = [](const std::string& value) {
    return "_target_: megatron.bridge.training.config.ConfigContainer\n"
           "mixed_precision: bf16_mixed\n"
           "model:\n  num_layers: 4\n  hidden_size: 1024\n  num_attention_heads: 8\n"
           "  seq_length: 2048\n  vocab_size: 32000\n  bias_activation_fusion: " +
           value + "\n  apply_rope_fusion: " + value +
           "\n  gradient_accumulation_fusion: " + value +
           "\ntrain:\n  global_batch_size: 8\n  micro_batch_size: 1\n";
  };
  EXPECT_TRUE(none_off(ExecutionOf(bridge("true"), "bridge.yaml")));
  EXPECT_TRUE(all_off(ExecutionOf(bridge("false"), "bridge.yaml")));
}

constexpr char kBridge[] = "_target_: megatron.bridge.training.config.ConfigContainer\n";

TEST(MegatronFieldsTest, AdaptersOfMegatronBridgeAreRefused) {
  const std::string train = "train:\n  micro_batch_size: 1\n";
  EXPECT_EQ(ReadingRefusal(kBridge + train +
                               "peft:\n  _target_: megatron.bridge.peft.lora.LoRA\n"
                               "  dim: 16\n",
                           "b.yaml"),
            "b.yaml:5: peft._target_ megatron.bridge.peft.lora.LoRA: not yet: peft, adapters of "
            "Megatron-Bridge; accepted: peft null, which trains all weights");
  EXPECT_NE(ReadingRefusal(kBridge + train + "peft: lora\n", "b.yaml").find("peft lora: not yet"),
            std::string::npos);
  EXPECT_EQ(ReadingRefusal(kBridge + train + "peft: null\n", "b.yaml"), "");
  EXPECT_EQ(ReadingRefusal(kBridge + train + "peft: none\n", "b.yaml"), "");
}

TEST(MegatronFieldsTest, DataOfMegatronBridgeHasTheLengthOfTheModel) {
  const auto config = [](const std::string& model, const std::string& data) {
    return ReadConfigText(kBridge + ("model:\n  num_layers: 4\n" + model) + "dataset:\n" + data,
                          "b.yaml");
  };
  for (const std::string key : {"sequence_length", "seq_length"}) {
    const std::string data = "  " + key + ": 8192\n";
    const UserConfig alone = config("", data);
    EXPECT_EQ(alone.Int(Field::kSeqLength, 0, 1, 100000), 8192);
    EXPECT_EQ(alone.used.back().key, "dataset." + key);
    EXPECT_EQ(config("  seq_length: 8192\n", data).Int(Field::kSeqLength, 0, 1, 100000), 8192);
    try {
      config("  seq_length: 4096\n", data);
      ADD_FAILURE() << "not refused";
    } catch (const CommandError& error) {
      EXPECT_EQ(std::string(error.what()), "b.yaml:6: dataset." + key +
                                               " 8192: differs from b.yaml:4: model.seq_length "
                                               "4096: the trainer refuses both");
    }
  }
}

TEST(MegatronFieldsTest, MegatronBridgeMayNameAModelOfTheHub) {
  const auto model = [](const std::string& fields) -> std::string {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    try {
      return RunOf(ReadConfigText(kBridge + ("model:\n  seq_length: 4096\n" + fields), "b.yaml"),
                   flags)
          .job.model()
          .name();
    } catch (const CommandError& error) {
      return error.what();
    }
  };
  const std::string name = "  hf_model_id: openai/gpt-oss-120b\n";
  EXPECT_EQ(model(name), "openai/gpt-oss-120b");
  EXPECT_EQ(model(name + "  num_layers: 36\n  hidden_size: 2880\n  num_moe_experts: 128\n"
                         "  ffn_hidden_size: 2880\n"),
            "openai/gpt-oss-120b");
  EXPECT_EQ(model(name + "  num_layers: 24\n"),
            "b.yaml:5: model.num_layers 24: differs from the 36 of gpt-oss-120b in the catalogue, "
            "which model.hf_model_id names: leave out one of the two, or name the model by "
            "--model");
  EXPECT_NE(model("  hf_model_id: mine/none\n").find("does not describe the model"),
            std::string::npos);
}

TEST(MegatronFieldsTest, OverridesOfMegatronBridgeAreNoWholeConfiguration) {
  const std::string overrides =
      "model:\n  seq_length: 4096\ntrain:\n  micro_batch_size: 1\nddp:\n  overlap_grad_reduce: "
      "true\n";
  const std::string rest =
      ": settings that are not in the file are defaults here, not those of the recipe. The "
      "ConfigContainer that Megatron-Bridge writes has them all.";
  const auto notes = [](const std::string& text) { return ReadConfigText(text, "b.yaml").notes; };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes(overrides),
            (Notes{"The file changes a recipe of Megatron-Bridge, which it does not name" + rest}));
  const std::string named = overrides + "recipe: qwen.qwen3\nflavor: qwen3_8b_pretrain_config\n";
  EXPECT_EQ(notes(named), (Notes{"The file changes a recipe of Megatron-Bridge (qwen.qwen3 "
                                 "qwen3_8b_pretrain_config)" +
                                 rest}));
  EXPECT_TRUE(ReadConfigText(named, "b.yaml").unknown.empty());
  EXPECT_TRUE(notes(kBridge + overrides).empty());
}

// As NVIDIA's recipes and the tests of Megatron-LM have them.
TEST(MegatronFieldsTest, OptionsMayBeKeysOfAYaml) {
  const UserConfig config = ReadConfigText(
      "ENV_VARS:\n  A: 1\nMODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 8\n"
      "  --legacy-tokenizer: true\nTEST_TYPE: regular\nMETRICS:\n  - iteration-time\n"
      "LAUNCHER: torchrun\n",
      "zoo.yaml");
  EXPECT_TRUE(config.unknown.empty());
  EXPECT_EQ(config.irrelevant, 5);
  EXPECT_EQ(InSyntax(config.syntax, "--moe-token-dispatcher-type flex --swiglu without --fp16"),
            "--moe-token-dispatcher-type: flex, --swiglu: true without --fp16");
  const UserConfig fields = ReadConfigText("num_layers: 4\nhidden_size: 8\n", "fields.yaml");
  EXPECT_EQ(InSyntax(fields.syntax, "--moe-token-dispatcher-type flex"),
            "moe_token_dispatcher_type: flex");
}

TEST(MegatronFieldsTest, OverridesOfMegatronBridgeHaveItsSections) {
  const auto format = [](const std::string& more) {
    return ReadConfigText(
               "model:\n  seq_length: 4096\n  tensor_model_parallel_size: 2\n"
               "train:\n  micro_batch_size: 1\n" +
                   more,
               "b.yaml")
        .format;
  };
  EXPECT_EQ(format("ddp:\n  use_megatron_fsdp: true\n"), ConfigFormat::kMegatronBridge);
  EXPECT_EQ(format("dist:\n  use_torch_fsdp2: false\n"), ConfigFormat::kMegatronBridge);
  EXPECT_EQ(format("mixed_precision: bf16_mixed\n"), ConfigFormat::kMegatronBridge);
  EXPECT_EQ(format("ddp:\n  bucket_size: 1\nsystem:\n  precision:\n    bf16: true\n"),
            ConfigFormat::kFlagScale);
  EXPECT_EQ(format(""), ConfigFormat::kFlagScale);
}

TEST(MegatronFieldsTest, ModulesThatRecomputeMayBeOneWord) {
  const auto modules = [](const std::string& value) {
    return RecomputeOf(ReadConfigText("num_layers: 4\nhidden_size: 512\n"
                                      "recompute_granularity: selective\nrecompute_modules: " +
                                          value + "\n",
                                      "m.yaml"))
        .modules;
  };
  const std::vector<std::string> both = {"moe_act", "layernorm"};
  for (const char* const value :
       {"moe_act layernorm", "moe_act,layernorm", "moe_act, layernorm", "[moe_act, layernorm]"})
    EXPECT_EQ(modules(value), both) << value;
}

TEST(MegatronFieldsTest, RefusesGroupsOfMicroBatchesThatMegatronRefuses) {
  const auto refusal = [](const std::string& more) -> std::string {
    JobFlags flags;
    flags.model = "llama3-8b";
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {4};
    const std::string command =
        "torchrun pretrain_gpt.py --bf16 --micro-batch-size 1 "
        "--seq-length 4096 --pipeline-model-parallel-size 4 "
        "--num-virtual-stages-per-pipeline-rank 2 " +
        more + "\n";
    try {
      RunOf(ReadConfigText(command, "run.sh"), flags);
    } catch (const CommandError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("--global-batch-size 8"), "");
  EXPECT_EQ(refusal("--global-batch-size 3"),
            "Megatron-Core refuses an interleaved pipeline of 4 stages with 3 micro-batches for "
            "each data-parallel rank: it needs 4 or more");
  EXPECT_EQ(refusal("--global-batch-size 11"),
            "Megatron-Core refuses 11 micro-batches in groups of 4 over 4 stages: set "
            "--microbatch-group-size-per-virtual-pipeline-stage 6");
  EXPECT_EQ(refusal("--global-batch-size 11 --microbatch-group-size-per-virtual-pipeline-stage 7"),
            "");
}

TEST(MegatronFieldsTest, ReadsDeepSpeedsStatesIn16Bits) {
  const auto run = [](const std::string& more) {
    JobFlags flags;
    flags.model = "llama3-8b";
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    flags.token_cap = 4096;
    return RunOf(ReadConfigText("{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": "
                                "{\"stage\": 3}, \"bf16\": {\"enabled\": true" +
                                    more + "}}",
                                "ds.json"),
                 flags);
  };
  const std::string master = ", \"bf16_master_weights_and_grads\": true";
  EXPECT_EQ(run("").job.training().optimizer(), v1::OPTIMIZER_ADAM);
  EXPECT_EQ(run(master + ", \"bf16_optimizer_states\": true").job.training().optimizer(),
            v1::OPTIMIZER_ADAM_16BIT);
  EXPECT_THROW(run(master), CommandError);
}

TEST(MegatronFieldsTest, UnknownKeysOfDeepSpeedsSectionsAreNotUnderstood) {
  const UserConfig config = ReadConfigText(
      R"({"bf16": {"enabled": true, "bf16_master_weights_and_grad": true,
            "check_grad_overflow": true},
          "fp16": {"enabled": false, "loss_scale": 0, "loss_scales": 0},
          "zero_optimization": {"stage": 3,
            "offload_optimizer": {"device": "cpu", "pin_memory": true, "ratoi": 0.3},
            "offload_param": {"device": "cpu", "max_in_cpu": 1e9, "max_in_gpu": 1}},
          "activation_checkpointing": {"profile": false, "cpu_checkpointin": true}})",
      "ds.json");
  std::vector<std::string> keys;
  for (const Setting& setting : config.unknown) keys.push_back(setting.key);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<std::string>{"activation_checkpointing.cpu_checkpointin",
                                            "bf16.bf16_master_weights_and_grad", "fp16.loss_scales",
                                            "zero_optimization.offload_optimizer.ratoi",
                                            "zero_optimization.offload_param.max_in_gpu"}));
}

// Returns the run of Megatron arguments that describe Llama 3 8B.
UserRun RunOfLlama(const std::string& more, JobFlags flags = {}) {
  flags.gpu = "h100-sxm-80gb";
  if (flags.gpus.empty()) flags.gpus = {8};
  return RunOf(
      ReadConfigText("torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 32 "
                     "--hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
                     "--group-query-attention --num-query-groups 8 --swiglu "
                     "--untie-embeddings-and-output-weights --position-embedding-type rope "
                     "--disable-bias-linear --vocab-size 128256 --seq-length 4096 "
                     "--micro-batch-size 1 --global-batch-size 16 " +
                         more + "\n",
                     "run.sh"),
      flags);
}

// The dimensions are those of Llama 2 70B and of Llama 3 70B.
TEST(MegatronFieldsTest, WithoutAVocabularyAllModelsOfTheShapeAreNamed) {
  const auto name = [](const std::string& vocabulary) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb", flags.gpus = {64};
    return RunOf(ReadConfigText(
                     "torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py --num-layers 80 "
                     "--hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 "
                     "--group-query-attention --num-query-groups 8 --swiglu --bf16 "
                     "--untie-embeddings-and-output-weights --position-embedding-type rope "
                     "--normalization RMSNorm --disable-bias-linear --seq-length 4096 "
                     "--micro-batch-size 1 --global-batch-size 64 " +
                         vocabulary + "\n",
                     "run.sh"),
                 flags)
        .job.model()
        .name();
  };
  EXPECT_NE(name("").find("llama3-70b"), std::string::npos) << name("");
  EXPECT_NE(name("").find("llama2-70b"), std::string::npos) << name("");
  EXPECT_EQ(name("--vocab-size 128256").find("llama2-70b"), std::string::npos);
  EXPECT_EQ(name("--vocab-size 32000").find("llama3-70b"), std::string::npos);
}

TEST(MegatronFieldsTest, AnotherNormIsAnotherModel) {
  EXPECT_EQ(RunOfLlama("--bf16 --normalization RMSNorm").job.model().name(),
            "llama3-8b (as described)");
  const UserRun run = RunOfLlama("--bf16 --normalization LayerNorm");
  EXPECT_EQ(run.job.model().language_model().norm(), v1::NORM_LAYER);
  EXPECT_EQ(run.job.model().name().find("llama3-8b"), std::string::npos);
}

TEST(MegatronFieldsTest, OtherDenseLayersAreAnotherModel) {
  const std::string experts =
      "--bf16 --normalization RMSNorm --num-experts 8 --moe-router-topk 2 --vocab-size 32000 "
      "--expert-model-parallel-size 8 ";
  EXPECT_EQ(RunOfLlama(experts).job.model().name(), "mixtral-8x7b (as described)");
  const UserRun run = RunOfLlama(experts + "--moe-layer-freq '([0]*4+[1]*28)'");
  EXPECT_EQ(run.job.model().language_model().mixture_of_experts().first_dense_layers(), 4);
}

TEST(MegatronFieldsTest, BothHalfPrecisionsAreRefused) {
  EXPECT_THROW(RunOfLlama("--bf16 --fp16"), CommandError);
  EXPECT_NO_THROW(RunOfLlama("--fp16"));
}

TEST(MegatronFieldsTest, WhatMegatronRefusesIsRefused) {
  const auto refusal = [](const std::string& more) -> std::string {
    try {
      RunOfLlama("--bf16 " + more);
    } catch (const CommandError& error) {
      return error.what();
    }
    return "";
  };
  const std::string experts = "--num-experts 8 --moe-router-topk 2 --vocab-size 32000 ";
  const std::pair<std::string, std::string> refused[] = {
      {"--recompute-granularity full",
       "run.sh:1: --recompute-granularity full: needs recompute-method, without which the trainer "
       "refuses it; accepted there: uniform, block"},
      {experts + "--moe-enable-deepep --moe-token-dispatcher-type alltoall",
       "run.sh:1: --moe-enable-deepep: needs moe-token-dispatcher-type flex, without which the "
       "trainer refuses it"},
      {experts + "--tensor-model-parallel-size 2",
       "run.sh:1: --tensor-model-parallel-size 2: needs sequence-parallel, without which the "
       "trainer refuses experts with tensor parallelism"},
      {"--train-iters 10 --train-samples 160",
       "run.sh:1: --train-samples 160: must not be set together with train-iters: the trainer "
       "refuses both"}};
  for (const auto& [more, why] : refused) EXPECT_EQ(refusal(more), why);
  for (const std::string& more :
       {std::string("--recompute-granularity full --recompute-method uniform"),
        std::string("--recompute-granularity selective"), std::string("--train-samples 160"),
        std::string("--tensor-model-parallel-size 2"),
        experts + "--moe-enable-deepep --moe-token-dispatcher-type flex",
        experts + "--tensor-model-parallel-size 2 --sequence-parallel"})
    EXPECT_EQ(refusal(more), "") << more;
}

TEST(MegatronFieldsTest, SaysThatAFlagOverridesTheGpusOfTheScript) {
  JobFlags flags;
  flags.gpus = {16};
  EXPECT_TRUE(Assumes(RunOfLlama("--bf16", flags), "16 GPUs (--gpus), not the 8 of"));
  EXPECT_FALSE(Assumes(RunOfLlama("--bf16"), "(--gpus)"));
}

TEST(MegatronFieldsTest, LongerTextsAreSplit) {
  const std::string path = testing::TempDir() + "one_long_text.json";
  std::ofstream(path) << R"([{"llm_tokens": 4096}, {"llm_tokens": 4096}, {"llm_tokens": 10000}])";
  JobFlags flags;
  flags.datasets = {path};
  const UserRun run = RunOfLlama("--bf16", flags);
  const v1::Histogram& histogram = run.job.dataset().histogram();
  ASSERT_EQ(histogram.llm_tokens_size(), 2);
  EXPECT_EQ(histogram.llm_tokens(0), 10000 - 2 * 4096);
  EXPECT_EQ(histogram.llm_tokens(1), 4096);
  EXPECT_EQ(histogram.sample_count(1), 4);
  EXPECT_TRUE(Assumes(run, "data: 1 longer sample is split into some of 4096 tokens"));
}

}  // namespace
}  // namespace evenkeel::cli
