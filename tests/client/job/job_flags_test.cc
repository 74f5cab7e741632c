#include "client/cli/job/job_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "tests/client/job/parse.h"
#include "tests/client/test_folder.h"

namespace evenkeel::cli {
namespace {

TEST(JobFlagsTest, ThreeAreEnoughAndNothingElseIsSet) {
  const v1::PlanJobRequest request = Parse(kThree);
  v1::PlanJobRequest want;
  want.mutable_job()->mutable_model()->set_name("m");
  auto* pool = want.mutable_job()->mutable_cluster()->add_pools();
  pool->set_gpu_type("g");
  pool->set_gpu_count(32);
  EXPECT_EQ(request.DebugString(), want.DebugString());
}

TEST(JobFlagsTest, ObjectiveAndFailures) {
  v1::PlanJobRequest request = Parse(Three({"--deadline",
                                            "2",
                                            "--mtbf",
                                            "1000",
                                            "--checkpoint-gbytes",
                                            "2",
                                            "--restart",
                                            "300",
                                            "--checkpoint-interval",
                                            "600",
                                            "--compare-sizes",
                                            "--compare-precisions",
                                            "--compare-shardings",
                                            "--order-window",
                                            "64",
                                            "--precision",
                                            "mxfp8",
                                            "--optimizer",
                                            "muon",
                                            "--zero-group",
                                            "8",
                                            "--start-layers-16bit",
                                            "1",
                                            "--end-layers-16bit",
                                            "2",
                                            "--expert-dispatcher",
                                            "deepep",
                                            "--network-fabric",
                                            "efa"}));
  const v1::Execution& execution = request.job().training().execution();
  EXPECT_EQ(execution.start_layers_16bit(), 1);
  EXPECT_EQ(execution.end_layers_16bit(), 2);
  EXPECT_EQ(execution.expert_dispatcher(), v1::EXPERT_DISPATCHER_DEEPEP);
  EXPECT_EQ(request.job().cluster().pools(0).network_fabric(), v1::NETWORK_FABRIC_EFA);
  EXPECT_TRUE(request.compare_sizes());
  EXPECT_TRUE(request.compare_precisions());
  EXPECT_TRUE(request.compare_shardings());
  EXPECT_EQ(request.job().training().order_window(), 64);
  EXPECT_EQ(request.job().training().precision(), v1::PRECISION_MXFP8);
  EXPECT_EQ(request.job().training().optimizer(), v1::OPTIMIZER_MUON);
  EXPECT_EQ(request.job().training().zero_group(), 8);
  EXPECT_EQ(request.job().objective().kind(), v1::OBJECTIVE_KIND_FEWEST_GPUS);
  EXPECT_DOUBLE_EQ(request.job().objective().deadline_seconds(), 7200);
  const v1::Reliability& reliability = request.job().reliability();
  EXPECT_DOUBLE_EQ(reliability.node_mean_time_between_failures_seconds(), 3.6e6);
  EXPECT_DOUBLE_EQ(reliability.checkpoint_bytes_per_second(), 2e9);
  EXPECT_DOUBLE_EQ(reliability.restart_seconds(), 300);
  EXPECT_DOUBLE_EQ(reliability.checkpoint_interval_seconds(), 600);
  request = Parse(Three({"--objective", "cost"}));
  EXPECT_EQ(request.job().objective().kind(), v1::OBJECTIVE_KIND_COST);
}

TEST(JobFlagsTest, MissingOnesAreNamed) {
  try {
    Parse({"--gpu", "g"});
    FAIL();
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find("needs --model --gpus"), std::string::npos);
  }
}

TEST(JobFlagsTest, EveryFlagReachesItsField) {
  const v1::PlanJobRequest request = Parse(Three({"--gpus-per-node",
                                                  "4",
                                                  "--inter-node-gbps",
                                                  "100",
                                                  "--intra-node-gbytes",
                                                  "300",
                                                  "--reserve-gib",
                                                  "1.5",
                                                  "--price",
                                                  "2.5",
                                                  "--global-batch",
                                                  "1024",
                                                  "--unit-cap",
                                                  "9",
                                                  "--token-cap",
                                                  "4096",
                                                  "--epochs",
                                                  "3",
                                                  "--zero",
                                                  "0",
                                                  "--seed",
                                                  "-7",
                                                  "--precision",
                                                  "fp16",
                                                  "--tp",
                                                  "4",
                                                  "--pp",
                                                  "2:8",
                                                  "--dp",
                                                  ":16",
                                                  "--stage-layers",
                                                  "22,23,24,24",
                                                  "--recompute",
                                                  "none",
                                                  "--freeze",
                                                  "encoder,llm",
                                                  "--label",
                                                  "hello",
                                                  "--alternatives",
                                                  "0"}));
  const v1::Job& job = request.job();
  const v1::GpuPool& pool = job.cluster().pools(0);
  EXPECT_EQ(pool.gpus_per_node(), 4);
  EXPECT_DOUBLE_EQ(pool.inter_node_bytes_per_second(), 12.5e9);
  EXPECT_DOUBLE_EQ(pool.intra_node_bytes_per_second(), 300e9);
  EXPECT_EQ(pool.reserved_bytes(), int64_t{3} << 29);
  EXPECT_DOUBLE_EQ(pool.price_per_gpu_hour(), 2.5);
  EXPECT_EQ(job.training().global_batch_samples(), 1024);
  EXPECT_EQ(job.training().unit_cap(), 9);
  EXPECT_EQ(job.training().token_cap(), 4096);
  EXPECT_EQ(job.training().epochs(), 3);
  EXPECT_EQ(job.training().zero_stage(), v1::ZERO_STAGE_0);
  EXPECT_EQ(job.training().seed(), -7);
  EXPECT_EQ(job.training().precision(), v1::PRECISION_FP16);
  EXPECT_EQ(job.constraints().tensor_parallel().min(), 4);
  EXPECT_EQ(job.constraints().tensor_parallel().max(), 4);
  EXPECT_EQ(job.constraints().pipeline_parallel().min(), 2);
  EXPECT_EQ(job.constraints().pipeline_parallel().max(), 8);
  EXPECT_EQ(job.constraints().data_parallel().min(), 0);
  EXPECT_EQ(job.constraints().data_parallel().max(), 16);
  EXPECT_EQ(job.constraints().stage_layers_size(), 4);
  EXPECT_EQ(job.constraints().stage_layers(1), 23);
  EXPECT_EQ(job.constraints().recompute(), v1::RECOMPUTE_POLICY_FORBIDDEN);
  EXPECT_EQ(job.model().encoder_train_mode(), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(job.model().language_model_train_mode(), v1::TRAIN_MODE_FROZEN);
  EXPECT_EQ(request.label(), "hello");
  EXPECT_TRUE(request.has_max_alternatives());
  EXPECT_EQ(request.max_alternatives(), 0);
}

TEST(JobFlagsTest, TrainerAndConfidence) {
  v1::Job job = Parse(Three({"--trainer", "torchtitan@0.2", "--memory-confidence", "0.9"})).job();
  EXPECT_EQ(job.training().trainer().name(), "torchtitan");
  EXPECT_EQ(job.training().trainer().version(), "0.2");
  EXPECT_EQ(job.constraints().memory_confidence_ratio(), 0.9);
  job = Parse(Three({"--trainer", "nanotron"})).job();
  EXPECT_EQ(job.training().trainer().name(), "nanotron");
  EXPECT_EQ(job.training().trainer().version(), "");
}

TEST(JobFlagsTest, PowerGradientsAndOverlap) {
  const v1::Job given = Parse(Three({"--power-limit", "500", "--gradients", "16bit",
                                     "--overlap-tensor", "on", "--overlap-experts", "off"}))
                            .job();
  EXPECT_EQ(given.cluster().pools(0).power_limit_watts(), 500);
  EXPECT_EQ(given.training().gradient_precision(), v1::GRADIENT_PRECISION_16BIT);
  EXPECT_TRUE(given.training().execution().overlap_tensor());
  EXPECT_TRUE(given.training().execution().has_overlap_experts());
  EXPECT_FALSE(given.training().execution().overlap_experts());
  EXPECT_EQ(Parse(Three({"--gradients", "fp32"})).job().training().gradient_precision(),
            v1::GRADIENT_PRECISION_FP32);
  EXPECT_FALSE(Parse(Three({})).job().training().has_execution());
  EXPECT_ANY_THROW(Parse(Three({"--gradients", "8bit"})));
  EXPECT_ANY_THROW(Parse(Three({"--overlap-tensor", "maybe"})));
}

TEST(JobFlagsTest, Adapters) {
  const v1::Model model =
      Parse(Three({"--lora", "llm", "--lora-rank", "64", "--lora-base", "nf4"})).job().model();
  EXPECT_EQ(model.language_model_train_mode(), v1::TRAIN_MODE_LORA);
  EXPECT_EQ(model.encoder_train_mode(), v1::TRAIN_MODE_UNSPECIFIED);
  EXPECT_EQ(model.lora().rank(), 64);
  EXPECT_EQ(model.lora().base_format(), v1::FROZEN_FORMAT_NF4);
  EXPECT_FALSE(Parse(Three({})).job().model().has_lora());
  EXPECT_ANY_THROW(Parse(Three({"--lora", "llm", "--freeze", "llm"})));
  EXPECT_ANY_THROW(Parse(Three({"--lora", "llm", "--lora-rank", "0"})));
  EXPECT_ANY_THROW(Parse(Three({"--lora", "llm", "--lora-base", "int2"})));
}

std::string Refusal(const std::vector<std::string>& more) {
  try {
    Parse(Three(more));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(JobFlagsTest, FlagsThatNeedOthersNameThem) {
  EXPECT_EQ(Refusal({"--mtbf", "10"}), "--mtbf needs --checkpoint-gbytes, 0.001 to 10000 GB/s");
  EXPECT_EQ(Refusal({"--restart", "10"}), "--restart needs --mtbf, 0.02 to 2000000 hours");
  EXPECT_EQ(Refusal({"--mtbf", "10", "--checkpoint-gbytes", "2"}), "");
  for (const char* flag : {"--lora-rank", "--lora-dropout", "--lora-train", "--lora-base"}) {
    const std::string flag_text = flag;
    const std::string value = flag_text == "--lora-rank"      ? "8"
                              : flag_text == "--lora-dropout" ? "0.1"
                              : flag_text == "--lora-train"   ? "head"
                                                              : "nf4";
    EXPECT_EQ(Refusal({flag, value}),
              flag_text + " needs --lora llm or --lora encoder, which say what trains adapters");
    EXPECT_EQ(Refusal({flag, value, "--lora", "encoder"}), "");
  }
}

TEST(JobFlagsTest, NamesOfOtherProgramsAreUnderstoodOrExplained) {
  EXPECT_EQ(Parse(Three({"--optimizer", "adamw"})).job().training().optimizer(),
            v1::OPTIMIZER_ADAM);
  EXPECT_EQ(Refusal({"--optimizer", "adamx"}),
            "--optimizer: must be adam, adam-16bit-moments, adam-8bit-moments, adam-16bit, "
            "adam-8bit, adafactor, lion, sgd or muon, but is \"adamx\"");
  EXPECT_EQ(Refusal({"--recompute", "selective"}),
            "--recompute: \"selective\" is no policy here: say auto, which chooses the parts to "
            "recompute, or full");
  EXPECT_EQ(Refusal({"--schedule", "x"}),
            "--schedule: must be 1f1b, interleaved, gpipe or zero-bubble, but is \"x\"");
}

TEST(JobFlagsTest, TablesBesideAdaptersAndSortedMicroBatches) {
  const v1::Job job = Parse(Three({"--lora", "llm", "--lora-train", "embedding,head",
                                   "--micro-batch-samples", "4", "--group-by-length"}))
                          .job();
  EXPECT_TRUE(job.model().lora().train_embedding());
  EXPECT_TRUE(job.model().lora().train_head());
  EXPECT_TRUE(job.training().group_by_length());
  EXPECT_ANY_THROW(Parse(Three({"--lora", "llm", "--lora-train", "norm"})));
  const v1::Job dropped = Parse(Three({"--lora", "llm", "--lora-dropout", ".05"})).job();
  EXPECT_EQ(dropped.model().lora().dropout_ratio(), .05);
  EXPECT_ANY_THROW(Parse(Three({"--lora", "llm", "--lora-dropout", "1"})));
}

TEST(JobFlagsTest, PredictedTokens) {
  EXPECT_EQ(Parse(Three({"--predicted-tokens", "2"})).job().model().predicted_tokens(), 2);
  EXPECT_EQ(Parse(Three({})).job().model().predicted_tokens(), 0);
}

TEST(JobFlagsTest, TheWholeSpace) {
  const v1::Constraints given =
      Parse(Three({"--cp", "2", "--ep", "1:4", "--virtual-stages", "2:", "--encoder-dp", "2:8",
                   "--schedule", "interleaved", "--partition", "bmp", "--recompute", "adaptive"}))
          .job()
          .constraints();
  EXPECT_EQ(given.context_parallel().min(), 2);
  EXPECT_EQ(given.context_parallel().max(), 2);
  EXPECT_EQ(given.expert_parallel().max(), 4);
  EXPECT_EQ(given.virtual_stages().min(), 2);
  EXPECT_EQ(given.virtual_stages().max(), 0);
  EXPECT_EQ(given.encoder_data_parallel().min(), 2);
  EXPECT_EQ(given.encoder_data_parallel().max(), 8);
  EXPECT_EQ(given.schedule(), v1::PIPELINE_SCHEDULE_INTERLEAVED);
  EXPECT_EQ(given.partition_method(), v1::PARTITION_METHOD_BMP);
  EXPECT_EQ(given.recompute(), v1::RECOMPUTE_POLICY_ADAPTIVE);
  EXPECT_THROW(Parse(Three({"--schedule", "2f2b"})), CLI::ParseError);
  EXPECT_THROW(Parse(Three({"--partition", "even"})), CLI::ParseError);
}

TEST(JobFlagsTest, FoolishValuesAreRefused) {
  for (const char* degree : {"", "x", "4x", "0", "-2", "1:2:3", "a:b", "99999999999"}) {
    if (*degree == '\0') continue;
    EXPECT_THROW(Parse(Three({std::string("--tp=") + degree})), CommandError) << degree;
  }
  EXPECT_THROW(Parse(Three({"--tp=65537"})), CommandError);
  EXPECT_THROW(Parse(Three({"--precision", "int8"})), CLI::ParseError);
  EXPECT_THROW(Parse(Three({"--expert-dispatcher", "nccl"})), CLI::ParseError);
  EXPECT_THROW(Parse(Three({"--network-fabric", "tcp"})), CLI::ParseError);
  EXPECT_THROW(Parse(Three({"--gpus", "many"})), CLI::ParseError);
  EXPECT_THROW(Parse(Three({"--recompute", "some"})), CLI::ParseError);
}

// A zero would mean "not given" in the request.
TEST(JobFlagsTest, NumbersOutOfRangeAreRefusedByFlagAndRange) {
  struct Bad {
    const char* flag;
    std::vector<const char*> values;
    const char* range;
  };
  const std::vector<Bad> bad = {{"--gpus", {"0", "-1", "65537", "99999999999"}, "1 to 65536"},
                                {"--gpus-per-node", {"0", "1025"}, "1 to 1024"},
                                {"--inter-node-gbps", {"0", "-1", "nan", "1e9"}, "0.08 to 80000"},
                                {"--intra-node-gbytes", {"0", "inf"}, "0.1 to 10000"},
                                {"--reserve-gib", {"-1", "nan", "4097"}, "0 to 4096"},
                                {"--price", {"-0.5", "2000000"}, "0 to 1000000"},
                                {"--predicted-tokens", {"0", "9"}, "1 to 8"},
                                {"--global-batch", {"0", "10000001"}, "1 to 10000000"},
                                {"--unit-cap", {"0", "1000001"}, "1 to 1000000"},
                                {"--micro-batch-samples", {"0", "65537"}, "1 to 65536"},
                                {"--pad-to", {"0", "16777217"}, "1 to 16777216"},
                                {"--pad-multiple", {"0", "65537"}, "1 to 65536"},
                                {"--token-cap", {"0", "16777217"}, "1 to 16777216"},
                                {"--epochs", {"0", "10001", "1.5"}, "1 to 10000"},
                                {"--zero", {"-1", "4", "7"}, "0 to 3"},
                                {"--seed",
                                 {"9223372036854775808", "-9223372036854775809"},
                                 "-9223372036854775808 to 9223372036854775807"},
                                {"--memory-confidence", {"0.4", "1", "nan"}, "0.5 to 0.99"},
                                {"--alternatives", {"-1", "17"}, "0 to 16"}};
  for (const Bad& flag : bad) {
    for (const char* value : flag.values) {
      try {
        Parse(Three({std::string(flag.flag) + "=" + value}));
        ADD_FAILURE() << flag.flag << " took " << value;
      } catch (const CLI::ParseError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find(flag.flag), std::string::npos) << text;
        EXPECT_NE(text.find(flag.range), std::string::npos) << text;
      }
    }
  }
}

TEST(JobFlagsTest, FlagsOverrideAJobFile) {
  const TestFolder folder;
  const std::string file =
      folder.Write("job.json",
                   R"({"model": {"name": "a", "encoder_train_mode": "TRAIN_MODE_FROZEN"},
                          "cluster": {"pools": [{"gpu": {"name": "own"}, "gpu_count": 8,
                                                 "gpus_per_node": 4}]}})");
  const v1::PlanJobRequest request =
      Parse({"--job", file, "--gpu", "h100-sxm-80gb", "--model", "b"});
  EXPECT_EQ(request.job().model().name(), "b");
  EXPECT_EQ(request.job().model().encoder_train_mode(), v1::TRAIN_MODE_FROZEN);
  const v1::GpuPool& pool = request.job().cluster().pools(0);
  EXPECT_EQ(pool.gpu_type(), "h100-sxm-80gb");
  EXPECT_FALSE(pool.has_gpu());
  EXPECT_EQ(pool.gpu_count(), 8);
  EXPECT_EQ(pool.gpus_per_node(), 4);
}

TEST(JobFlagsTest, AJobFileMayBeAWholeRequest) {
  const TestFolder folder;
  const std::string file =
      folder.Write("request.json", R"({"job": {"model": {"name": "a"}}, "maxAlternatives": 5})");
  const v1::PlanJobRequest request = Parse({"--job", file});
  EXPECT_EQ(request.job().model().name(), "a");
  EXPECT_EQ(request.max_alternatives(), 5);
}

TEST(JobFlagsTest, BadJobFilesAreNamed) {
  const TestFolder folder;
  for (const char* text :
       {"", "{", "[]", "{\"modle\": {}}", "{\"job\": {\"modle\": {}}}", "nope"}) {
    const std::string file = folder.Write("bad.json", text);
    try {
      Parse({"--job", file});
      FAIL() << text;
    } catch (const CommandError& error) {
      EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
    }
  }
}

TEST(JobFlagsTest, AModelThatIsAPathMustBeThere) {
  const auto complaint = [](const std::string& model) {
    try {
      Parse({"--model", model, "--gpu", "g", "--gpus", "8"});
    } catch (const CommandError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint("gone/config.json"), "--model gone/config.json: there is no such file");
  EXPECT_EQ(complaint("/dev"), "--model /dev: the folder has no config.json");
  EXPECT_EQ(complaint("Qwen/Qwen3-8B"), "");
}

TEST(JobFlagsTest, PaddedMicroBatches) {
  const v1::Training training =
      Parse(Three({"--micro-batch-samples", "4", "--pad-to", "4096", "--pad-multiple", "64"}))
          .job()
          .training();
  EXPECT_EQ(training.micro_batch_samples(), 4);
  EXPECT_EQ(training.padding().tokens(), 4096);
  EXPECT_EQ(training.padding().multiple(), 64);
  EXPECT_FALSE(Parse(Three({"--micro-batch-samples", "4"})).job().training().has_padding());
}

TEST(JobFlagsTest, WeightsAndSharesOfDatasets) {
  const TestFolder folder;
  const std::string one = folder.Write("w.jsonl", "{\"length\": 300}");
  const std::string two = folder.Write("x.jsonl", "{\"length\": 12}");
  const std::vector<std::string> both = {"--dataset", one, "--dataset", two};
  const auto parts = [&](std::vector<std::string> more) {
    more.insert(more.begin(), both.begin(), both.end());
    return Parse(Three(more)).job().dataset();
  };
  EXPECT_EQ(parts({"--dataset-weights", "2,0.5"}).parts(1).weight(), 0.5);
  EXPECT_FALSE(parts({"--dataset-shares", "0.7,0.3"}).parts(0).has_weight());
  EXPECT_EQ(parts({"--dataset-shares", "0.7,0.3"}).parts(0).share(), 0.7);
  EXPECT_THROW(parts({"--dataset-shares", "0.7"}), CommandError);
  EXPECT_THROW(Parse(Three({"--dataset", one, "--dataset-weights", "1"})), CommandError);
}

TEST(JobFlagsTest, SeveralDatasetsBecomeParts) {
  const TestFolder folder;
  const std::string one = folder.Write("d.json", "[{\"vit_num\": 1, \"token_num\": 300}]");
  const std::string two = folder.Write("e.jsonl", "{\"length\": 12}");
  EXPECT_EQ(Parse(Three({"--dataset", one})).job().dataset().histogram().units(0), 1);
  const v1::Dataset both =
      Parse(Three({"--dataset", one, "--dataset", two, "--dataset", one})).job().dataset();
  ASSERT_EQ(both.parts_size(), 3);
  EXPECT_FALSE(both.has_histogram());
  EXPECT_NE(both.parts(0).name(), both.parts(2).name());
  EXPECT_EQ(both.parts(1).histogram().llm_tokens(0), 12);
}

TEST(JobFlagsTest, TiersOfTheNetwork) {
  const auto pool = [](const std::vector<std::string>& flags) {
    std::vector<std::string> all = {"--model", "llama3-8b", "--gpu", "gb200", "--gpus", "1152"};
    all.insert(all.end(), flags.begin(), flags.end());
    return Parse(all).job().cluster().pools(0);
  };
  EXPECT_EQ(pool({}).network_tiers_size(), 0);
  const v1::GpuPool racks = pool({"--domain-gpus", "72", "--usable-domain-gpus", "64"});
  ASSERT_EQ(racks.network_tiers_size(), 1);
  EXPECT_EQ(racks.network_tiers(0).gpu_count(), 72);
  EXPECT_EQ(racks.network_tiers(0).usable_gpu_count(), 64);
  const v1::GpuPool pods = pool({"--pod-gpus", "576", "--oversubscription", "4"});
  ASSERT_EQ(pods.network_tiers_size(), 3);
  EXPECT_EQ(pods.network_tiers(0).gpu_count(), 0);
  EXPECT_EQ(pods.network_tiers(1).gpu_count(), 576);
  EXPECT_EQ(pods.network_tiers(2).oversubscription_ratio(), 4);
}

}  // namespace
}  // namespace evenkeel::cli
