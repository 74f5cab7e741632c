// Tests what is read of torchtitan's configuration.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/read_config.h"
#include "client/cli/from/run/request_of.h"
#include "client/cli/from/run/run_of.h"
#include "client/cli/from/run/user_run.h"
#include "planner/space/parallelism.h"
#include "tests/client/trainer_runs.h"

namespace evenkeel::cli {
namespace {

constexpr char kLlama[] = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";

// Returns the run of 8 GPUs, with stages cut for 32 layers.
UserRun TorchtitanRun(const std::string& toml, JobFlags flags = {}) {
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  UserRun run = RunOf(ReadConfigText(toml, "train.toml"), flags);
  AdaptToLayers(ModelLayers(32, v1::LAYER_KIND_DENSE), &run);
  return run;
}

std::string TorchtitanRefusal(const std::string& toml) {
  try {
    TorchtitanRun(toml);
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

std::string InPipeline(const std::string& more) {
  return std::string(kLlama) + "[parallelism]\npipeline_parallel_degree = 4\n" + more;
}

TEST(TorchtitanTest, BatchAndLengthHaveDefaults) {
  const UserRun run = TorchtitanRun(std::string(kLlama) + "[training]\nsteps = 100\n");
  EXPECT_EQ(run.micro_batch, 8);
  EXPECT_EQ(run.seq_length, 2048);
  EXPECT_TRUE(Assumes(run, "local_batch_size: 8, torchtitan's default"));
  EXPECT_TRUE(Assumes(run, "seq_len: 2048, torchtitan's default"));
  const UserRun said =
      TorchtitanRun(std::string(kLlama) + "[training]\nlocal_batch_size = 1\nseq_len = 128\n");
  EXPECT_EQ(said.micro_batch, 1);
  EXPECT_EQ(said.seq_length, 128);
  EXPECT_FALSE(Assumes(said, "torchtitan's default"));
}

TEST(TorchtitanTest, ARefusalOfTheRequestNamesTheSettingBehindIt) {
  const UserConfig config =
      ReadConfigText(std::string(kLlama) + "converters = [\"mx\"]\n", "train.toml");
  EXPECT_EQ(WithItsSetting(config, "job.training.precision (--precision): not so"),
            "job.training.precision (--precision): not so (set by train.toml:4: model.converters "
            "mx)");
  EXPECT_EQ(WithItsSetting(config, "job.training.precisions: not so"),
            "job.training.precisions: not so");
  EXPECT_EQ(WithItsSetting(config, "no field"), "no field");
  const UserConfig both = ReadConfigText(std::string(kLlama) +
                                             "[optimizer]\nname = \"Lion\"\n[training]\n"
                                             "enable_cpu_offload = true\n",
                                         "train.toml");
  EXPECT_EQ(WithItsSetting(both, "job.training.offload: not so; accepted: training.optimizer ADAM"),
            "job.training.offload: not so; accepted: training.optimizer ADAM (set by train.toml:7: "
            "training.enable_cpu_offload true; training.optimizer is set by train.toml:5: "
            "optimizer.name Lion)");
}

TEST(TorchtitanTest, ConvertersSetThePrecision) {
  const auto precision = [](const std::string& converters) {
    return TorchtitanRun(std::string(kLlama) + "converters = " + converters + "\n")
        .job.training()
        .precision();
  };
  EXPECT_EQ(precision("[]"), v1::PRECISION_BF16);
  EXPECT_EQ(precision("[\"float8\"]"), v1::PRECISION_FP8);
  EXPECT_EQ(precision("[\"quantize.linear.float8\"]"), v1::PRECISION_FP8);
  EXPECT_EQ(precision("[\"mx\"]"), v1::PRECISION_MXFP8);
  EXPECT_EQ(precision("[\"quantize.linear.mx\"]"), v1::PRECISION_MXFP8);
  const std::string rowwise = std::string(kLlama) +
                              "converters = [\"float8\", \"mine\"]\n[float8]\nrecipe_name = "
                              "\"rowwise\"\nenable_fsdp_float8_all_gather = true\n";
  const UserRun run = TorchtitanRun(rowwise);
  EXPECT_EQ(run.job.training().precision(), v1::PRECISION_FP8);
  EXPECT_TRUE(Assumes(run, "a scale for each tensor, not rowwise"));
  EXPECT_TRUE(Assumes(run, "\"mine\" is taken to change nothing"));
  EXPECT_NE(TorchtitanRefusal(std::string(kLlama) +
                              "converters = [\"float8\"]\n[float8]\nrecipe_name = \"x\"\n")
                .find("must be tensorwise, rowwise or rowwise_with_gw_hp"),
            std::string::npos);
  // A section without a converter has no effect.
  EXPECT_EQ(TorchtitanRun(std::string(kLlama) + "[float8]\nfilter_fqns = [\"output\"]\n")
                .job.training()
                .precision(),
            v1::PRECISION_BF16);
}

TEST(TorchtitanTest, TablesWithoutAConverterAreSaidToHaveNoEffect) {
  const auto read = [](const std::string& converters, const std::string& table) {
    return ReadConfigText(std::string(kLlama) + converters + table, "train.toml");
  };
  const std::string float8 =
      "[float8]\nrecipe_name = \"rowwise\"\nfilter_fqns = [\"router.gate\"]\n"
      "moe_fqns = [\"experts\"]\n";
  for (const char* others : {"", "converters = [\"mx\"]\n"}) {
    const UserConfig idle = read(others, float8);
    EXPECT_TRUE(idle.not_predicted.empty());
    EXPECT_FALSE(idle.Has(Field::kFp8Recipe));
    EXPECT_EQ(idle.irrelevant, 3);
    ASSERT_EQ(idle.notes.size(), 1u);
    EXPECT_EQ(idle.notes[0],
              "Tables without effect, as model.converters names no converter that reads them: "
              "float8.");
  }
  const UserConfig converted = read("converters = [\"float8\"]\n", float8);
  EXPECT_EQ(converted.not_predicted.size(), 2u);
  EXPECT_TRUE(converted.Has(Field::kFp8Recipe));
  EXPECT_TRUE(converted.notes.empty());
  const std::string experts = "[quantize.grouped_mm.float8]\nfqns = [\"experts\"]\n";
  const std::string linear = "converters = [\"quantize.linear.float8\"";
  EXPECT_EQ(read(linear + "]\n", experts).notes.size(), 1u);
  EXPECT_EQ(read(linear + ", \"quantize.grouped_mm.float8\"]\n", experts).not_predicted.size(), 1u);
  EXPECT_EQ(read("", "[mx]\nrecipe_name = \"mxfp8\"\n").not_predicted.size(), 0u);
  EXPECT_EQ(read("", "[float8]\nenable_float8_linear = true\n").not_predicted.size(), 1u);
}

// A pipeline, or weights that stay gathered, change no kernel.
TEST(TorchtitanTest, TheModulesAreThoseOfTorchtitanInEverySplit) {
  const auto training = [](const std::string& toml) { return TorchtitanRun(toml).job.training(); };
  EXPECT_EQ(training(kLlama).trainer().name(), "torchtitan");
  for (const std::string& split :
       {InPipeline(""),
        std::string(kLlama) + "[parallelism]\nfsdp_reshard_after_forward = \"never\"\n",
        std::string(kLlama) + "[parallelism]\ndata_parallel_replicate_degree = 8\n"
                              "data_parallel_shard_degree = 1\n"}) {
    const v1::Training other = training(split);
    EXPECT_EQ(other.trainer().name(), "generic");
    EXPECT_FALSE(other.execution().fused_kernels());
    EXPECT_EQ(other.execution().kernel_rate_ratio(), 0.96);
    EXPECT_TRUE(other.execution().casts_master_weights());
  }
  const v1::Training compiled = training(InPipeline("[compile]\nenable = true\n"));
  EXPECT_EQ(compiled.execution().loss_logit_bytes(), 4);
  EXPECT_FALSE(compiled.execution().has_fused_activation()) << "it follows fused_kernels";
  EXPECT_FALSE(compiled.execution().has_fused_rotary());
}

// Only quantize.grouped_mm converts them.
TEST(TorchtitanTest, ExpertsThatStayIn16BitsAreNamed) {
  const auto named = [](const std::string& converters, v1::LayerKind kind) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    UserRun run = RunOf(ReadConfigText("[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\n"
                                       "converters = [" +
                                           converters + "]\n",
                                       "train.toml"),
                        flags);
    AdaptToLayers(ModelLayers(27, kind), &run);
    return Assumes(run, "experts are predicted in the format of linear layers, but stay");
  };
  const v1::LayerKind experts = v1::LAYER_KIND_MOE;
  EXPECT_TRUE(named("\"quantize.linear.float8\"", experts));
  EXPECT_TRUE(named("\"float8\"", experts));
  EXPECT_FALSE(named("\"quantize.linear.float8\", \"quantize.grouped_mm.float8\"", experts));
  EXPECT_FALSE(named("\"quantize.linear.float8\"", v1::LAYER_KIND_DENSE));
  EXPECT_FALSE(named("", experts));
}

// As in files of 2024.
TEST(TorchtitanTest, DegreesHadOtherSections) {
  const UserRun run = TorchtitanRun(
      std::string(kLlama) +
      "[training]\ntensor_parallel_degree = 2\ndata_parallel_shard_degree = 1\n[experimental]\n"
      "context_parallel_degree = 2\npipeline_parallel_degree = 2\n"
      "pipeline_parallel_schedule = \"GPipe\"\n");
  EXPECT_EQ(run.degrees.tensor(), 2);
  EXPECT_EQ(run.degrees.context(), 2);
  EXPECT_EQ(run.degrees.pipeline(), 2);
  EXPECT_EQ(run.degrees.data(), 1);
  EXPECT_EQ(run.schedule, v1::PIPELINE_SCHEDULE_GPIPE);
}

// Embedding and head count as a layer each.
TEST(TorchtitanTest, StagesAreCutAsTorchtitanCuts) {
  const auto chunks = [](const std::string& more) {
    return TorchtitanRun(InPipeline(more)).chunks;
  };
  EXPECT_EQ(chunks(""), (std::vector<int64_t>{8, 9, 8, 7}));
  EXPECT_EQ(chunks("pipeline_parallel_first_stage_less_layers = 0\n"
                   "pipeline_parallel_last_stage_less_layers = 0\n"),
            (std::vector<int64_t>{8, 8, 8, 8}));
  const UserRun two =
      TorchtitanRun(InPipeline("pipeline_parallel_schedule = \"Interleaved1F1B\"\n"));
  EXPECT_EQ(two.degrees.virtual_stages(), 2);
  EXPECT_EQ(two.chunks, (std::vector<int64_t>{4, 5, 4, 4, 4, 4, 4, 3}));
  EXPECT_TRUE(TorchtitanRun(kLlama).chunks.empty());
}

TEST(TorchtitanTest, LayersOfAStageSayHowManyThereAre) {
  const UserRun one = TorchtitanRun(InPipeline("pipeline_parallel_layers_per_stage = 9\n"));
  EXPECT_EQ(one.degrees.virtual_stages(), 1);
  EXPECT_EQ(one.chunks, (std::vector<int64_t>{8, 9, 8, 7}));
  const std::string interleaved = "pipeline_parallel_schedule = \"Interleaved1F1B\"\n";
  const UserRun three =
      TorchtitanRun(InPipeline(interleaved + "pipeline_parallel_layers_per_stage = 3\n"));
  EXPECT_EQ(three.degrees.virtual_stages(), 3);
  EXPECT_EQ(three.schedule, v1::PIPELINE_SCHEDULE_INTERLEAVED);
  EXPECT_NE(TorchtitanRefusal(InPipeline(interleaved + "pipeline_parallel_layers_per_stage = 4\n"))
                .find("layers_per_stage 4: 34 layers, embedding and head counted, make 9 stages; "
                      "with 4 ranks and this schedule it must be a multiple of 4 from 8 on"),
            std::string::npos);
  EXPECT_NE(TorchtitanRefusal(InPipeline("pipeline_parallel_layers_per_stage = 3\n"))
                .find("make 12 stages; with 4 ranks and this schedule it must be 4"),
            std::string::npos);
  EXPECT_NE(TorchtitanRefusal(InPipeline("pipeline_parallel_last_stage_less_layers = 20\n"))
                .find("32 layers do not make 4 stages"),
            std::string::npos);
}

TEST(TorchtitanTest, KeysThatHalveMemoryAreNotPassedOver) {
  const auto with = [](const std::string& more) {
    return std::string(kLlama) + "[training]\nlocal_batch_size = 1\nseq_len = 128\n" + more;
  };
  EXPECT_NE(
      TorchtitanRefusal(with("dtype = \"bfloat16\"\n"))
          .find("train.toml:7: training.dtype bfloat16: not yet: weights and states in 16 bits "
                "without a copy in fp32; accepted: float32; --precision bf16 --optimizer "
                "adam-16bit evaluates such"),
      std::string::npos);
  JobFlags flags;
  flags.precision = "bf16";
  flags.optimizer = "adam-16bit";
  const v1::Training pure = TorchtitanRun(with("dtype = \"bfloat16\"\n"), flags).job.training();
  EXPECT_EQ(pure.optimizer(), v1::OPTIMIZER_ADAM_16BIT);
  EXPECT_EQ(pure.gradient_precision(), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_EQ(TorchtitanRefusal(with("dtype = \"float32\"\n")), "");
  const auto bytes = [](const UserRun& run) {
    return run.job.training().execution().loss_logit_bytes();
  };
  const UserRun compiled = TorchtitanRun(with("[compile]\nenable = true\n"));
  EXPECT_EQ(bytes(compiled), 4);
  EXPECT_TRUE(Assumes(compiled, "kernels of the layers are fused, the loss is compiled"));
  EXPECT_TRUE(compiled.job.training().execution().fused_kernels());
  const UserRun model = TorchtitanRun(with("[compile]\nenable = true\ncomponents = [\"model\"]\n"));
  EXPECT_EQ(bytes(model), 14);
  EXPECT_TRUE(Assumes(model, "kernels of the layers are fused, the loss is eager"));
  EXPECT_EQ(bytes(TorchtitanRun(with("[compile]\nenable = false\n"))), 14);
  EXPECT_EQ(ReadConfigText(with("[compile]\nenable = true\n"), "t.toml").irrelevant, 0);
  // The key of releases before 0.2.
  EXPECT_TRUE(TorchtitanRun(with("compile = true\n")).job.training().execution().fused_kernels());
}

// FSDP casts what it has reduced back to the type of the weights.
TEST(TorchtitanTest, GradientsAreHeldInTheTypeOfTheWeights) {
  const auto with = [](const std::string& type) {
    return std::string(kLlama) + "[training]\nmixed_precision_reduce = \"" + type + "\"\n";
  };
  for (const char* const type : {"bfloat16", "float32"})
    EXPECT_EQ(TorchtitanRun(with(type)).job.training().gradient_precision(),
              v1::GRADIENT_PRECISION_FP32)
        << type;
  const UserConfig reduced = ReadConfigText(with("bfloat16"), "t.toml");
  ASSERT_EQ(reduced.not_predicted.size(), 1u);
  EXPECT_EQ(reduced.not_predicted[0].first.key, "training.mixed_precision_reduce");
  EXPECT_TRUE(ReadConfigText(with("float32"), "t.toml").not_predicted.empty());
}

TEST(TorchtitanTest, TheModeOfRecomputeDecides) {
  const auto recompute = [](const std::string& more) {
    return TorchtitanRun(std::string(kLlama) + "[activation_checkpoint]\n" + more).recompute;
  };
  EXPECT_EQ(recompute("mode = \"none\"\nmemory_budget = 0.5\n").kind, Recompute::Kind::kNone);
  EXPECT_NE(
      TorchtitanRefusal(std::string(kLlama) + "[activation_checkpoint]\nmode = \"memory_budget\"\n")
          .find("activation_checkpoint.mode memory_budget: not yet"),
      std::string::npos);
  const auto stops = [](const std::string& more) {
    return TorchtitanRun(std::string(kLlama) + "[activation_checkpoint]\n" + more)
        .job.training()
        .execution()
        .stops_recompute_early();
  };
  EXPECT_FALSE(stops("mode = \"full\"\n"));
  EXPECT_TRUE(stops("mode = \"full\"\nearly_stop = true\n"));
  // Every third layer: the third, the sixth and so on.
  const UserRun run =
      TorchtitanRun(std::string(kLlama) +
                    "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"3\"\n");
  const v1::Stage stage =
      RequestOf(run, ModelLayers(4, v1::LAYER_KIND_DENSE), /*evaluate_only=*/false)
          .plan()
          .stages(0);
  ASSERT_EQ(stage.layers_size(), 3);
  EXPECT_EQ(stage.layers(0).layer_count(), 2);
  EXPECT_EQ(stage.layers(0).recomputed_size(), 0);
  EXPECT_EQ(stage.layers(1).recomputed_size(), 1);
}

// Each rank counts its own layers, of all its chunks.
TEST(TorchtitanTest, RanksCountTheLayersThatTheyRecompute) {
  const auto recomputed = [](const std::string& more, int stage) {
    const UserRun run = TorchtitanRun(
        InPipeline(more) +
        "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"\n");
    std::vector<bool> layers;
    const v1::Plan plan =
        RequestOf(run, ModelLayers(32, v1::LAYER_KIND_DENSE), /*evaluate_only=*/false).plan();
    for (const v1::LayerGroup& group : plan.stages(stage).layers())
      layers.insert(layers.end(), static_cast<size_t>(group.layer_count()),
                    group.recomputed_size() > 0);
    return layers;
  };
  // Stages of 8, 9, 8 and 7 layers.
  EXPECT_EQ(recomputed("", 2), (std::vector<bool>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(recomputed("", 3), (std::vector<bool>{0, 1, 0, 1, 0, 1, 0}));
  // Chunks of 5 and 4 layers.
  EXPECT_EQ(recomputed("pipeline_parallel_schedule = \"Interleaved1F1B\"\n", 1),
            (std::vector<bool>{0, 1, 0, 1, 0, 1, 0, 1, 0}));
}

TEST(TorchtitanTest, AnOptimizerOfManyKernelsHoldsMore) {
  const auto bytes = [](const std::string& implementation) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    flags.gpus = {8};
    const std::string toml =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[optimizer]\nname = \"AdamW\"\n" +
        implementation;
    return RunOf(ReadConfigText(toml, "a.toml"), flags)
        .job.training()
        .execution()
        .update_parameter_bytes();
  };
  EXPECT_EQ(bytes(""), 0);
  EXPECT_EQ(bytes("implementation = \"fused\"\n"), 0);
  EXPECT_EQ(bytes("implementation = \"foreach\"\n"), 4);
}

TEST(TorchtitanTest, UnknownKeysOfKnownSectionsAreNotUnderstood) {
  const auto unknown = [](const std::string& section) {
    std::vector<std::string> keys;
    for (const Setting& setting : ReadConfigText(kLlama + section, "train.toml").unknown)
      keys.push_back(setting.key);
    return keys;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(unknown("[optimizer]\nname = \"AdamW\"\nlr = 1e-4\nbeta1 = 0.9\neps = 1e-8\n"
                    "early_step_in_backwards = true\nstate_dtype = \"bfloat16\"\n"),
            (Keys{"optimizer.early_step_in_backwards", "optimizer.state_dtype"}));
  EXPECT_EQ(unknown("[experimental]\ncustom_import = \"a.b\"\nnew = 1\n"),
            (Keys{"experimental.new"}));
  EXPECT_EQ(unknown("[float8]\nprecompute_float8_dynamic_scale_for_fsdp = true\nnew = 1\n"),
            (Keys{"float8.new"}));
  EXPECT_EQ(unknown("[quantize.linear.float8]\nemulate = true\nnew = 1\n"),
            (Keys{"quantize.linear.float8.new"}));
}

TEST(TorchtitanTest, DegreesAreAllOfItsGpus) {
  const auto gpus = [](const std::string& shards) {
    JobFlags flags;
    flags.gpu = "h100-sxm-80gb";
    const std::string toml =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 8192\n"
        "[parallelism]\ndata_parallel_replicate_degree = 2\ntensor_parallel_degree = 4\n"
        "data_parallel_shard_degree = " +
        shards + "\n";
    return RunOf(ReadConfigText(toml, "a.toml"), flags).job.cluster().pools(0).gpu_count();
  };
  EXPECT_EQ(gpus("8"), 64);
  EXPECT_THROW(gpus("-1"), CommandError);
}

TEST(TorchtitanTest, NoShardsAreNoDegree) {
  const auto refusal = [](const std::string& shards) {
    return TorchtitanRefusal(std::string(kLlama) +
                             "[parallelism]\ndata_parallel_shard_degree = " + shards + "\n");
  };
  EXPECT_EQ(refusal("-1"), "");
  EXPECT_EQ(refusal("8"), "");
  EXPECT_EQ(refusal("0"),
            "train.toml:5: parallelism.data_parallel_shard_degree 0: must be -1, for all ranks "
            "that are left, or from 1 to " +
                std::to_string(planner::kGpusAtMost));
}

TEST(TorchtitanTest, FlavorsOfTheCatalogue) {
  const auto model = [](const std::string& name, const std::string& flavor) {
    return TorchtitanRun("[model]\nname = \"" + name + "\"\nflavor = \"" + flavor + "\"\n")
        .job.model()
        .name();
  };
  EXPECT_EQ(model("qwen3", "8B"), "qwen3-8b");
  EXPECT_EQ(model("qwen3", "0.6B"), "qwen3-0.6b");
  EXPECT_EQ(model("llama4", "17bx16e"), "llama4-scout");
  EXPECT_EQ(model("deepseek_v3", "16B"), "deepseek-v2-lite");
  EXPECT_EQ(model("gpt_oss", "20b"), "gpt-oss-20b");
  EXPECT_NE(
      TorchtitanRefusal("[model]\nname = \"llama3\"\nflavor = \"debugmodel\"\n")
          .find("torchtitan's llama3 debugmodel is not known here: name the model by --model"),
      std::string::npos);
}

}  // namespace
}  // namespace evenkeel::cli
