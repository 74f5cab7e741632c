// Tests what is read of trainers' configurations. What it is evaluated to is tested by
// tests/integration/test_evaluate_from.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/layout.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "client/cli/from/shell/shell.h"
#include "client/cli/from/shell/sum.h"
#include "tests/client/test_folder.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

std::vector<std::string> LastCommand(const std::string& text) {
  std::vector<std::string> words;
  const ShellScript script = ReadShell(text, "run.sh");
  for (const ShellWord& word : script.commands.back()) words.push_back(word.text);
  return words;
}

using Words = std::vector<std::string>;

TEST(ReadUserConfigTest, VariablesNeedAScript) {
  TestFolder folder;
  const std::string arguments = folder.Path("args.json"), adapter = folder.Path("adapter.json");
  std::ofstream(arguments) << R"({"per_device_train_batch_size": 2})";
  std::ofstream(adapter) << R"({"peft_type": "LORA", "r": 8})";
  try {
    ReadUserConfig({arguments, adapter}, std::nullopt, {{"TP", "8"}});
    ADD_FAILURE() << "not refused";
  } catch (const CommandError& error) {
    EXPECT_STREQ(error.what(), "--env TP: args.json is no shell script or YAML");
  }
}

TEST(ReadUserConfigTest, VariablesFillInAYaml) {
  TestFolder folder;
  const std::string yaml = folder.Path("kimi.yaml");
  std::ofstream(yaml) << "MODEL_ARGS:\n  --tensor-model-parallel-size: ${TP}\n"
                         "  --seq-length: 4096\n";
  const auto tensor = [&](const Environment& environment) {
    try {
      return std::to_string(
          ReadUserConfig({yaml}, std::nullopt, environment).Int(Field::kTensor, 1, 1, 64));
    } catch (const CommandError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(tensor({{"TP", "8"}}), "8");
  EXPECT_EQ(tensor({{"PP", "8"}}), "--env PP: kimi.yaml has no ${PP}");
  EXPECT_NE(tensor({}).find("the file does not say what ${TP} is: write the number, or give"),
            std::string::npos);
}

TEST(ShellTest, PutsInVariablesArraysAndSums) {
  EXPECT_EQ(LastCommand("N=2 # nodes\nARGS=(\n  --a $N  # two\n  \"--b c\"\n)\nARGS+=(--d)\n"
                        "run ${ARGS[@]} \\\n  --e $((N*(3+1))) --f ${X:-7} '$N' \"$N\""),
            (Words{"run", "--a", "2", "--b", "c", "--d", "--e", "8", "--f", "7", "$N", "2"}));
  EXPECT_EQ(LastCommand("A=\"--x 1\"\nA+=\" --y 2\"\nexec run $A \"$A\" 2>&1 | tee log\n")[0],
            "tee");
  EXPECT_EQ(LastCommand("A=(x 'y z')\nrun \"${A[@]}\""), (Words{"run", "x", "y z"}));
}

TEST(ShellTest, KeepsHereDocumentsAndNamesWhatIsNotSet) {
  const ShellScript script =
      ReadShell("cat > a.json <<'END'\n{\"b\": $1}\nEND\nrun $NOT_SET\n", "s");
  ASSERT_EQ(script.files.size(), 1u);
  EXPECT_EQ(script.files[0].name, "a.json");
  EXPECT_EQ(script.files[0].text, "{\"b\": $1}\n");
  EXPECT_EQ(script.unset, std::set<std::string>{"NOT_SET"});
}

TEST(ShellTest, RefusesWhatDoesNotEndAndWhatGrowsWithoutBound) {
  EXPECT_THROW(ReadShell("a 'b", "s"), CommandError);
  EXPECT_THROW(ReadShell("a \"b", "s"), CommandError);
  EXPECT_THROW(ReadShell("a ${b", "s"), CommandError);
  std::string bomb = "A=0123456789\n";
  for (int i = 0; i < 40; ++i) bomb += "A=$A$A\n";
  EXPECT_THROW(ReadShell(bomb, "s"), CommandError);
}

TEST(ShellTest, SumsKeepWithinWholeNumbers) {
  const auto none = [](const std::string&) { return std::string(); };
  EXPECT_EQ(ShellSum("2*(3+4)%5", none), 4);
  EXPECT_EQ(ShellSum("1/0", none), std::nullopt);
  EXPECT_EQ(ShellSum("9007199254740992*9007199254740992", none), std::nullopt);
  EXPECT_EQ(ShellSum("x+1", none), std::nullopt);
}

TEST(LayoutTest, CountsLayersOfEachEntry) {
  EXPECT_EQ(LayersOfLayout("Ettt|(tt|)*3,m|L"), (std::vector<int64_t>{3, 2, 2, 2, 0, 0}));
  EXPECT_EQ(LayersOfLayout("Et*16|t*16L"), (std::vector<int64_t>{16, 16}));
  EXPECT_EQ(LayersOfLayout("Ex"), std::nullopt);
  EXPECT_EQ(LayersOfLayout("(t"), std::nullopt);
  EXPECT_EQ(LayersOfLayout("((((t*999999)*999999)*9)*9)"), std::nullopt);
}

TEST(DocumentsTest, FlattensYamlAndNamesFaultsByLine) {
  const auto settings = ReadYaml("a:\n  b: 1\n  c: [x, y]\n  d: null\ne: [[1, 2], [3]]\n", "f");
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_EQ(settings[0].key, "a.b");
  EXPECT_EQ(settings[0].where, "f:2");
  EXPECT_EQ(settings[1].values, (Words{"x", "y"}));
  EXPECT_EQ(settings[2].values, (Words{"[1,2]", "[3]"}));
  for (const char* bad : {"a: &x 1\nb: *x\n", "a: 1\na: 2\n", "- a\n", "a: [\n", "just words\n"})
    EXPECT_THROW(ReadYaml(bad, "f"), CommandError) << bad;
  EXPECT_THROW(ReadYaml("a: " + std::string(2000, '['), "f"), CommandError);
}

TEST(DocumentsTest, RefusesBadJsonAndToml) {
  for (const std::string& bad : {std::string("{\"a\": 1, \"a\": 2}"), std::string("[1]"),
                                 std::string("{"), std::string(100000, '[')})
    EXPECT_THROW(ReadJson(bad, "f"), CommandError);
  EXPECT_THROW(ReadToml("[a]\nb = \n", "f"), CommandError);
  EXPECT_EQ(ReadToml("[a]\nb = 4096\n", "f")[0].key, "a.b");
}

TEST(ReadConfigTest, ListsWhatItDoesNotUnderstand) {
  const UserConfig config = ReadConfigText(
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size=512 --lr 1e-4 "
      "--new-thing 3 --window-size 4095,0 --bf16 --no-ckpt-fully-parallel-save",
      "run.sh");
  EXPECT_EQ(config.format, ConfigFormat::kMegatron);
  EXPECT_EQ(config.Int(Field::kHidden, 0, 1, 100000), 512);
  EXPECT_TRUE(config.On(Field::kBf16));
  ASSERT_EQ(config.unknown.size(), 1u);
  EXPECT_EQ(Describe(config.unknown[0]), "run.sh:1: --new-thing 3");
  EXPECT_EQ(config.not_predicted.size(), 1u);
  EXPECT_EQ(config.irrelevant, 2);
}

TEST(ReadConfigTest, ListsWhatIsNotPredictedUnlessItIsTheDefault) {
  const auto unpredicted = [](const std::string& section) {
    return ReadConfigText("{\"train_micro_batch_size_per_gpu\": 1, " + section + "}", "ds.json")
        .not_predicted.size();
  };
  EXPECT_EQ(unpredicted("\"zero_optimization\": {\"stage3_max_live_parameters\": 1e9, "
                        "\"stage3_max_reuse_distance\": 1000000000, "
                        "\"stage3_prefetch_bucket_size\": 5e7, \"zero_hpz_partition_size\": 1, "
                        "\"stage3_param_persistence_threshold\": 100000}"),
            0u);
  EXPECT_EQ(unpredicted("\"zero_optimization\": {\"stage3_max_live_parameters\": 1e8, "
                        "\"zero_hpz_partition_size\": 8}"),
            2u);
  EXPECT_EQ(unpredicted("\"data_parallel_size\": 99"), 1u);
  EXPECT_EQ(
      ReadConfigText("--num-layers 4 --hidden-size 8 --no-fp8-wgrad", "args").not_predicted.size(),
      1u);
}

TEST(ReadConfigTest, NamesPlaceAndKeyOfAFault) {
  EXPECT_NE(ReadingRefusal("--num-layers 4 --hidden-size 8\n--cpu-offloading-weights\n", "args")
                .find("args:2: --cpu-offloading-weights: not yet"),
            std::string::npos);
  EXPECT_NE(
      ReadingRefusal("{\"activation_checkpointing\": {\"cpu_checkpointing\": true}}", "ds.json")
          .find("cpu_checkpointing true: not yet"),
      std::string::npos);
  EXPECT_NE(ReadingRefusal("{\"model_type\": \"llama\"}", "config.json").find("--model"),
            std::string::npos);
  EXPECT_NE(ReadingRefusal("echo --hello\n", "x.sh").find("x.sh: no command in it has arguments"),
            std::string::npos);
  EXPECT_NE(ReadingRefusal("  \n", "x.sh").find("x.sh is empty"), std::string::npos);
  EXPECT_NE(ReadingRefusal("torchrun -m torchtitan.train --job.config_file x.toml\n", "x.sh")
                .find("x.sh:1: torchtitan.train: not yet: torchtitan's options: give the TOML"),
            std::string::npos);
  const UserConfig config = ReadConfigText("--num-layers four --hidden-size 8", "args");
  EXPECT_THROW(config.Int(Field::kLayers, 0, 1, 9), CommandError);
}

UserRun RunOfArguments(const std::string& more, const std::string& weights = "--bf16 ") {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {16};
  const std::string text =
      "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 128 --vocab-size 1000 "
      "--micro-batch-size 1 --global-batch-size 16 ";
  return RunOf(ReadConfigText(text + weights + more, "args"), flags);
}

TEST(RunOfTest, LeavesPredictedTokensOutAloud) {
  const auto mentions = [](const UserRun& run) {
    return std::count_if(run.assumed.begin(), run.assumed.end(), [](const std::string& line) {
      return line.find("multi-token prediction") != std::string::npos;
    });
  };
  EXPECT_EQ(mentions(RunOfArguments("")), 0);
  EXPECT_EQ(mentions(RunOfArguments("--mtp-num-layers 1")), 1);
}

TEST(RunOfTest, ReadsTheDispatcherOfExperts) {
  const std::string experts = "--num-experts 16 --expert-model-parallel-size 8 ";
  const auto dispatcher = [&](const std::string& more) {
    return RunOfArguments(experts + more).job.training().execution().expert_dispatcher();
  };
  EXPECT_EQ(dispatcher(""), v1::EXPERT_DISPATCHER_ALL_GATHER);
  EXPECT_EQ(dispatcher("--moe-token-dispatcher-type alltoall"), v1::EXPERT_DISPATCHER_ALL_TO_ALL);
  EXPECT_EQ(dispatcher("--moe-token-dispatcher-type flex --moe-enable-deepep"),
            v1::EXPERT_DISPATCHER_DEEPEP);
  EXPECT_EQ(dispatcher("--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep"),
            v1::EXPERT_DISPATCHER_HYBRIDEP);
  EXPECT_THROW(dispatcher("--moe-token-dispatcher-type new"), CommandError);
  EXPECT_EQ(RunOfArguments("").job.training().execution().expert_dispatcher(),
            v1::EXPERT_DISPATCHER_UNSPECIFIED);
}

TEST(RunOfTest, ReadsTheFormatOfGradients) {
  const auto format = [](const std::string& weights, const std::string& more) {
    return RunOfArguments(more, weights).job.training().gradient_precision();
  };
  EXPECT_EQ(format("--bf16 ", ""), v1::GRADIENT_PRECISION_FP32);
  EXPECT_EQ(format("--bf16 ", "--grad-reduce-in-bf16"), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_EQ(format("--fp16 ", ""), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_EQ(format("--fp16 ", "--accumulate-allreduce-grads-in-fp32"), v1::GRADIENT_PRECISION_FP32);
}

TEST(RunOfTest, RefusesWhatItWouldReadAsSomethingElse) {
  const std::string full = "--recompute-granularity full --recompute-method uniform ";
  EXPECT_EQ(RunOfArguments(full + "--recompute-num-layers 1").recompute.kind,
            Recompute::Kind::kEvery);
  const std::pair<std::string, const char*> refused[] = {
      {full + "--recompute-num-layers 4", "--recompute-num-layers 4: not yet"},
      {"--zero-stage 3", "--zero-stage 3: not yet: Megatron-DeepSpeed's arguments"},
      {"--deepspeed", "--deepspeed: not yet: Megatron-DeepSpeed's arguments"},
      {"--deepspeed_config ds.json", "--deepspeed_config ds.json: not yet"}};
  for (const auto& [arguments, why] : refused) {
    try {
      RunOfArguments(arguments);
      ADD_FAILURE() << arguments;
    } catch (const CommandError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
}

TEST(ReadConfigTest, NamesOtherProgramsWithSuchArguments) {
  EXPECT_NE(
      ReadingRefusal("NPROC_PER_NODE=8 megatron sft --load m --micro_batch_size 1\n", "run.sh")
          .find("megatron sft: not yet: Megatron-SWIFT"),
      std::string::npos);
}

// FlagScale's Aquila of 70 and 7 billion parameters.
TEST(RunOfTest, FlagScalesWidthOfMlpsFollowsItsMultiples) {
  const auto ffn = [](const std::string& hidden, const std::string& more) {
    return RunOfArguments("--hidden-size " + hidden +
                          " --num-attention-heads 32 --swiglu --multiple-of " + more)
        .job.model()
        .language_model()
        .ffn_size();
  };
  EXPECT_EQ(ffn("8192", "4096 --hidden-dim-multiplier 1.3"), 28672);
  EXPECT_EQ(ffn("4096", "256"), 11008);
}

TEST(RunOfTest, ReadsTheTypesOfAPreciseOptimizer) {
  const std::string precise = "--use-distributed-optimizer --use-precision-aware-optimizer ";
  const UserRun run = RunOfArguments(
      precise + "--main-grads-dtype bf16 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16");
  EXPECT_EQ(run.job.training().gradient_precision(), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_EQ(run.job.training().optimizer(), v1::OPTIMIZER_ADAM_16BIT_MOMENTS);
  const auto mentions = [](const UserRun& of) {
    return std::count(of.assumed.begin(), of.assumed.end(),
                      "optimizer: both moments in bf16, though exp-avg-sq-dtype is fp32");
  };
  EXPECT_EQ(mentions(run), 0);
  EXPECT_EQ(mentions(RunOfArguments(precise + "--exp-avg-dtype bf16")), 1);
  const auto unpredicted = [](const std::string& type) {
    return ReadConfigText("--num-layers 4 --hidden-size 8 --main-params-dtype " + type, "args")
        .not_predicted.size();
  };
  EXPECT_EQ(unpredicted("fp16"), 1u);
  EXPECT_EQ(unpredicted("fp32"), 0u);
}

TEST(RunOfTest, ReadsGraphsByNameAndBySwitch) {
  const auto graphs = [](const std::string& text, const std::string& path) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {16};
    return RunOf(ReadConfigText(text, path), flags)
        .job.training()
        .execution()
        .has_host_launch_seconds();
  };
  const std::string yaml =
      "num_layers: 4\nhidden_size: 512\nnum_attention_heads: 8\nseq_length: 128\nbf16: true\n"
      "vocab_size: 1000\nmicro_batch_size: 1\nglobal_batch_size: 16\n";
  EXPECT_TRUE(graphs(yaml + "cuda_graph_impl: local\n", "train.yaml"));
  EXPECT_FALSE(graphs(yaml + "cuda_graph_impl: none\n", "train.yaml"));
  EXPECT_TRUE(
      RunOfArguments("--enable-cuda-graph").job.training().execution().has_host_launch_seconds());
  EXPECT_FALSE(RunOfArguments("").job.training().execution().has_host_launch_seconds());
}

TEST(RunOfTest, ReadsDeterministicMode) {
  const auto execution = [](const std::string& more) {
    return RunOfArguments("--tp-comm-overlap " + more).job.training().execution();
  };
  EXPECT_FALSE(execution("").deterministic());
  EXPECT_TRUE(execution("").overlap_tensor());
  EXPECT_TRUE(execution("--deterministic-mode").deterministic());
  EXPECT_FALSE(execution("--deterministic-mode").overlap_tensor());
  EXPECT_FALSE(execution("--transformer-impl local").overlap_tensor()) << "it has no user buffers";
}

TEST(RunOfTest, ReadsOffloadOfTheOptimizer) {
  EXPECT_FALSE(RunOfArguments("").job.training().has_offload());
  const auto share = [](const std::string& more) {
    return RunOfArguments("--use-distributed-optimizer " + more)
        .job.training()
        .offload()
        .optimizer_ratio();
  };
  EXPECT_EQ(share("--optimizer-cpu-offload --use-precision-aware-optimizer"), 1);
  EXPECT_EQ(share("--optimizer-cpu-offload --optimizer-offload-fraction 0.4 "
                  "--overlap-cpu-optimizer-d2h-h2d"),
            0.4);
  EXPECT_THROW(share("--optimizer-cpu-offload --optimizer-offload-fraction 2"), CommandError);
  EXPECT_EQ(
      ReadingRefusal(
          "{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}}",
          "ds.json")
          .find("offload_optimizer"),
      std::string::npos);
}

TEST(RunOfTest, ReadsOffloadOfActivations) {
  const v1::Job job =
      RunOfArguments("--cpu-offloading --cpu-offloading-num-layers 3 --cpu-offloading-activations")
          .job;
  EXPECT_EQ(job.training().offload().activation_layers(), 3);
  EXPECT_FALSE(job.training().offload().has_optimizer_ratio());
  EXPECT_FALSE(RunOfArguments("--cpu-offloading-num-layers 0").job.training().has_offload());
  EXPECT_THROW(RunOfArguments("--cpu-offloading-num-layers some"), CommandError);
}

TEST(RunOfTest, ReadsOffloadOfModules) {
  const std::string on = "--fine-grained-activation-offloading --offload-modules ";
  const v1::Offload offload =
      RunOfArguments(on + "core_attn attn_proj expert_fc1").job.training().offload();
  ASSERT_EQ(offload.activation_modules_size(), 3);
  EXPECT_EQ(offload.activation_modules(2), v1::OFFLOAD_MODULE_EXPERT_FC1);
  EXPECT_FALSE(RunOfArguments("--offload-modules core_attn").job.training().has_offload());
  EXPECT_THROW(RunOfArguments("--fine-grained-activation-offloading"), CommandError);
  EXPECT_THROW(RunOfArguments(on + "fused_group_mlp"), CommandError);
}

TEST(RunOfTest, ReadsOffloadOfDeepSpeedsWeights) {
  const auto offload = [](const std::string& sections) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    flags.model = "llama3-8b";
    flags.token_cap = 4096;
    const std::string text =
        "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, "
        "\"zero_optimization\": {\"stage\": 3" +
        sections + "}}";
    return RunOf(ReadConfigText(text, "ds.json"), flags).job.training();
  };
  const std::string states = ", \"offload_optimizer\": {\"device\": \"cpu\"}";
  const v1::Training both = offload(states + ", \"offload_param\": {\"device\": \"cpu\"}");
  EXPECT_TRUE(both.offload().weights());
  EXPECT_EQ(both.offload().optimizer_ratio(), 1);
  EXPECT_FALSE(offload(states + ", \"offload_param\": {\"device\": \"none\"}").offload().weights());
  EXPECT_THROW(offload(", \"offload_param\": {\"device\": \"cpu\"}"), CommandError);
  EXPECT_THROW(offload(states + ", \"offload_param\": {\"device\": \"nvme\"}"), CommandError);
}

TEST(RunOfTest, DeepSpeedPadsSamplesUnlessPacksAreGiven) {
  const std::string text =
      "{\"train_batch_size\": 256, \"gradient_accumulation_steps\": 16, "
      "\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}}";
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  flags.model = "llama3-8b";
  const TestFolder folder;
  flags.datasets = {
      folder.Write("lengths.jsonl", "{\"llm_tokens\": 900}\n{\"llm_tokens\": 4000}\n")};
  const UserRun padded = RunOf(ReadConfigText(text, "ds.json"), flags);
  EXPECT_TRUE(padded.padded);
  EXPECT_EQ(padded.job.training().micro_batch_samples(), 2);
  EXPECT_EQ(padded.job.training().global_batch_samples(), 256);
  flags.token_cap = 4096;
  const UserRun packed = RunOf(ReadConfigText(text, "ds.json"), flags);
  EXPECT_FALSE(packed.padded);
  EXPECT_EQ(packed.job.training().micro_batch_samples(), 0);
}

TEST(ReadConfigTest, ModulesThatLaunchWroteForOtherTrainersAreNamed) {
  const std::string text =
      "# Written by Evenkeel for llama3-8b.\n\"\"\"The plan for XTuner v1\"\"\"\n";
  try {
    ReadConfigText(text + "ZERO = 3\n", "evenkeel_xtuner.py");
    FAIL();
  } catch (const CommandError& error) {
    EXPECT_NE(std::string(error.what()).find("evenkeel_xtuner.py is a module that `launch` wrote"),
              std::string::npos)
        << error.what();
  }
}

TEST(RunOfTest, SaysThatBatchSizesOfDeepSpeedImplyTensorParallelism) {
  const auto run = [](const std::string& tensor) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {16};
    flags.model = "llama3-8b";
    flags.token_cap = 4096;
    flags.tensor = tensor;
    return RunOf(
        ReadConfigText("{\"train_batch_size\": 256, \"gradient_accumulation_steps\": 16, "
                       "\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}}",
                       "ds.json"),
        flags);
  };
  const std::string note =
      "tensor parallelism of 2: the batch sizes name 8 data-parallel ranks, of 16 GPUs";
  const UserRun implied = run(""), given = run("2");
  EXPECT_EQ(implied.degrees.tensor(), 2);
  EXPECT_EQ(implied.degrees.data(), 8);
  EXPECT_EQ(std::count(implied.assumed.begin(), implied.assumed.end(), note), 1);
  EXPECT_EQ(given.degrees.tensor(), 2);
  EXPECT_EQ(std::count(given.assumed.begin(), given.assumed.end(), note), 0);
}

TEST(RunOfTest, NamesTheNearestGlobalBatches) {
  const auto complaint = [](int batch) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    flags.model = "llama3-8b";
    flags.token_cap = 12288;
    try {
      RunOf(ReadConfigText(fmt::format("{{\"train_batch_size\": {}, "
                                       "\"train_micro_batch_size_per_gpu\": 3, "
                                       "\"bf16\": {{\"enabled\": true}}}}",
                                       batch),
                           "ds.json"),
            flags);
    } catch (const CommandError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint(100),
            "a global batch of 100 is not a multiple of 24 (micro-batches of 3 on 8 data-parallel "
            "ranks); nearest: 96, 120");
  EXPECT_TRUE(complaint(7).ends_with("nearest: 24"));
  EXPECT_EQ(complaint(96), "");
}

TEST(RunOfTest, ReadsOffloadOfTorchtitansWeights) {
  const auto offload = [](const std::string& setting) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    flags.model = "llama3-8b";
    const std::string text = "[training]\nlocal_batch_size = 1\nseq_len = 8192\n" + setting;
    return RunOf(ReadConfigText(text, "train.toml"), flags).job.training();
  };
  EXPECT_TRUE(offload("enable_cpu_offload = true\n").offload().weights());
  EXPECT_FALSE(offload("enable_cpu_offload = false\n").has_offload());
  EXPECT_FALSE(offload("").has_offload());
  EXPECT_TRUE(offload("[optimizer]\nearly_step_in_backward = true\n").fused_step());
  EXPECT_FALSE(offload("[optimizer]\nearly_step_in_backward = false\n").fused_step());
}

TEST(RunOfTest, ReadsLayersThatStayIn16Bits) {
  const v1::Execution kept = RunOfArguments(
                                 "--fp8-format hybrid --fp8-recipe tensorwise "
                                 "--first-last-layers-bf16 --num-layers-at-end-in-bf16 2")
                                 .job.training()
                                 .execution();
  EXPECT_EQ(kept.start_layers_16bit(), 1);
  EXPECT_EQ(kept.end_layers_16bit(), 2);
}

}  // namespace
}  // namespace evenkeel::cli
