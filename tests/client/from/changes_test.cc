// Tests the changes of a run that are evaluated, and the settings that the answer tells people to
// write.
#include "client/cli/from/advise/changes.h"
#include "client/cli/from/advise/evaluate_run.h"
#include "client/cli/from/run/run_of.h"

#include <gtest/gtest.h>

#include <absl/strings/str_replace.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "client/cli/backend/backend.h"
#include "client/cli/from/advise/render_from.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/read_config.h"

namespace evenkeel::cli {
namespace {

constexpr int64_t kLayers = 32;

// Every plan takes a second for a sample.
class OneSecond : public Backend {
 public:
  v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest&) override {
    v1::EvaluatePlanResponse response;
    v1::Predictions* predictions = response.mutable_evaluated()->mutable_predictions();
    predictions->set_samples_per_step(1);
    predictions->mutable_step()->set_total_seconds(1);
    return response;
  }
  v1::PlanJobResponse PlanJob(const v1::PlanJobRequest&) override { return {}; }
  v1::PlanCurveResponse PlanCurve(const v1::PlanCurveRequest&) override { return {}; }
  v1::GetPlanResponse GetPlan(const v1::GetPlanRequest&) override { return {}; }
  v1::ListPlansResponse ListPlans(const v1::ListPlansRequest&) override { return {}; }
  v1::RecordProfileResponse RecordProfile(const v1::RecordProfileRequest&) override { return {}; }
  v1::ListProfilesResponse ListProfiles(const v1::ListProfilesRequest&) override { return {}; }
  v1::RollBackProfileResponse RollBackProfile(const v1::RollBackProfileRequest&) override {
    return {};
  }
  v1::ListModelsResponse ListModels(const v1::ListModelsRequest&) override { return {}; }
  v1::ListGpuTypesResponse ListGpuTypes(const v1::ListGpuTypesRequest&) override { return {}; }
  v1::ListTrainersResponse ListTrainers(const v1::ListTrainersRequest&) override { return {}; }
  PackedDataset PackDataset(const v1::PackDatasetStart&, const SampleLengths&) override {
    return {};
  }
  std::string name() const override { return "test"; }
};

// A pack holds 8.5 samples, and at most 9,000 units.
class PacksOfSeveral : public OneSecond {
 public:
  v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest& request) override {
    requests.push_back(request);
    v1::EvaluatePlanResponse response = OneSecond::EvaluatePlan(request);
    v1::Plan* plan = response.mutable_evaluated();
    plan->mutable_batch_rule()->set_samples_per_pack(8.5);
    plan->mutable_batch_rule()->set_unit_cap(9000);
    plan->mutable_batch_rule()->set_token_cap(10000);
    const double packs = static_cast<double>(request.job().training().global_batch_samples()) / 8.5;
    plan->mutable_predictions()->set_micro_batches(static_cast<int32_t>(
        std::max(1., std::round(packs / request.plan().parallelism().data()))));
    return response;
  }
  std::vector<v1::EvaluatePlanRequest> requests;
};

// Returns a run of 64 packs a step on 16 ranks.
UserRun RunOfPacks(int64_t seq_length) {
  UserRun run;
  run.degrees.set_tensor(1);
  run.degrees.set_pipeline(1);
  run.degrees.set_data(16);
  run.degrees.set_virtual_stages(1);
  run.seq_length = seq_length;
  run.sequences = 64;
  run.job.mutable_training()->set_global_batch_samples(64);
  return run;
}

// Returns all changes of a configuration of 32 layers on 16 GPUs.
std::vector<Change> ChangesIn(const std::string& text, const std::string& file) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {16};
  const UserConfig config = ReadConfigText(text, file);
  UserRun run = RunOf(config, flags);
  const ModelLayers layers(kLayers, v1::LAYER_KIND_DENSE);
  AdaptToLayers(layers, &run);
  v1::Plan slow;
  slow.mutable_predictions()->set_samples_per_step(1);
  slow.mutable_predictions()->mutable_step()->set_total_seconds(10);
  OneSecond backend;
  return FirstChanges(run, slow, config.format, layers, /*most=*/100, &backend).best;
}

// Returns all changes of torchtitan's llama3 8B.
std::vector<Change> ChangesOf(const std::string& parallelism, const std::string& stages = "4") {
  const std::string toml =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\npipeline_parallel_degree = " +
      stages + "\n";
  return ChangesIn(toml + parallelism, "train.toml");
}

// Returns the change with this text, or one without.
Change Named(const std::vector<Change>& changes, const std::string& text) {
  const auto found = std::find_if(changes.begin(), changes.end(),
                                  [&](const Change& change) { return change.text == text; });
  return found == changes.end() ? Change() : *found;
}

constexpr char kTwo[] = "2 virtual stages on each stage instead of 1";
constexpr char kOne[] = "1 virtual stages on each stage instead of 2";
constexpr char kFour[] = "4 virtual stages on each stage instead of 2";
constexpr char kInterleaved[] = "pipeline_parallel_schedule = \"Interleaved1F1B\"\n";

// 34 layers, embedding and head counted, which 8 stages do not divide.
TEST(EvaluateRunTest, AStepHasThePacksOfTheConfiguration) {
  UserRun run = RunOfPacks(10368);
  const ModelLayers layers(kLayers, v1::LAYER_KIND_DENSE);
  PacksOfSeveral backend;
  const auto response = EvaluateRun(&run, layers, /*evaluate_only=*/false, &backend);
  EXPECT_EQ(response.evaluated().predictions().micro_batches(), 4);
  EXPECT_EQ(run.job.training().global_batch_samples(), 544);
  ASSERT_EQ(backend.requests.size(), 3u);
  EXPECT_EQ(backend.requests[0].plan().batch_rule().unit_cap(), 0) << "derived";
  for (size_t i = 0; i < backend.requests.size(); ++i) {
    const v1::EvaluatePlanRequest& request = backend.requests[i];
    EXPECT_EQ(request.evaluate_only(), i < 2) << "ours is planned once, at the end";
    EXPECT_EQ(request.plan().batch_rule().token_cap(), 10368);
    if (i > 0) {
      EXPECT_EQ(request.plan().batch_rule().unit_cap(), 9000);
    }
    EXPECT_EQ(request.job().training().unit_cap(), 0) << "ours chooses its own";
  }
  // A change of it is evaluated once, over the same packs.
  EvaluateRun(&run, layers, /*evaluate_only=*/true, &backend);
  ASSERT_EQ(backend.requests.size(), 4u);
  EXPECT_EQ(backend.requests.back().plan().batch_rule().unit_cap(), 9000);
}

TEST(EvaluateRunTest, PacksOfUnknownLengthAreThoseOfOurPlan) {
  UserRun run = RunOfPacks(/*seq_length=*/0);
  const ModelLayers layers(kLayers, v1::LAYER_KIND_DENSE);
  PacksOfSeveral backend;
  EvaluateRun(&run, layers, /*evaluate_only=*/true, &backend);
  ASSERT_GE(backend.requests.size(), 2u);
  EXPECT_FALSE(backend.requests.front().evaluate_only());
  EXPECT_EQ(backend.requests.back().plan().batch_rule().unit_cap(), 9000);
  EXPECT_EQ(backend.requests.back().plan().batch_rule().token_cap(), 10000);
}

TEST(ChangesTest, TorchtitansStagesAreCutAsItCutsThem) {
  const std::vector<Change> changes = ChangesOf("");
  const Change two = Named(changes, kTwo);
  EXPECT_EQ(two.run.chunks, (std::vector<int64_t>{4, 5, 4, 4, 4, 4, 4, 3}));
  EXPECT_EQ(two.run.schedule, v1::PIPELINE_SCHEDULE_INTERLEAVED);
  EXPECT_EQ(two.argument, "parallelism.pipeline_parallel_schedule = \"Interleaved1F1B\"");
  const Change stages = Named(changes, "pipeline stages 2 instead of 4");
  EXPECT_EQ(stages.run.chunks, (std::vector<int64_t>{16, 16}));
  // The schedule of the configuration stays, and with it two stages of each rank.
  const Change more = Named(ChangesOf(kInterleaved), "pipeline stages 2 instead of 4");
  EXPECT_EQ(more.run.chunks, (std::vector<int64_t>{8, 9, 8, 7}));
  EXPECT_EQ(more.run.degrees.virtual_stages(), 2);
}

// Returns the arguments to write for a change of a Megatron-LM script that already has these
// arguments.
std::string MegatronArgument(const std::string& more, const std::string& change) {
  const std::string script =
      "python pretrain_gpt.py --num-layers 32 --hidden-size 512 --num-attention-heads 8 "
      "--seq-length 128 --vocab-size 1000 --micro-batch-size 1 --global-batch-size 64 --bf16 "
      "--pipeline-model-parallel-size 4 ";
  return Named(ChangesIn(script + more + "\n", "run.sh"), change).argument;
}

// Settings that cut the model for four stages do not hold for other degrees.
TEST(ChangesTest, MegatronIsToldToDropWhatCutsTheModel) {
  const char* const two = "pipeline stages 2 instead of 4";
  EXPECT_EQ(MegatronArgument("", two), "--pipeline-model-parallel-size 2");
  EXPECT_EQ(MegatronArgument("--pipeline-model-parallel-layout 'Et*8|t*8|t*8|t*8L'", two),
            "--pipeline-model-parallel-size 2 without --pipeline-model-parallel-layout");
  EXPECT_EQ(MegatronArgument(
                "--decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 7", two),
            "--pipeline-model-parallel-size 2 without --decoder-first-pipeline-num-layers and "
            "--decoder-last-pipeline-num-layers");
  EXPECT_EQ(MegatronArgument("--num-layers-per-virtual-pipeline-stage 4", two),
            "--pipeline-model-parallel-size 2 without --num-layers-per-virtual-pipeline-stage");
  EXPECT_EQ(MegatronArgument("--num-virtual-stages-per-pipeline-rank 2", two),
            "--pipeline-model-parallel-size 2 without --num-virtual-stages-per-pipeline-rank");
  EXPECT_EQ(MegatronArgument("--num-virtual-stages-per-pipeline-rank 2", kFour),
            "--num-virtual-stages-per-pipeline-rank 4");
  EXPECT_EQ(MegatronArgument("--num-layers-per-virtual-pipeline-stage 4", kFour),
            "--num-virtual-stages-per-pipeline-rank 4 without "
            "--num-layers-per-virtual-pipeline-stage");
  const char* const tensor = "tensor parallelism 2 instead of 1";
  EXPECT_EQ(MegatronArgument("--decoder-first-pipeline-num-layers 8", tensor),
            "--tensor-model-parallel-size 2 --sequence-parallel");
}

// Megatron-LM's own layers have no user buffers.
TEST(ChangesTest, OnlyTransformerEnginesLayersOverlapTensorCommunication) {
  const char* const overlap = "tensor-parallel communication overlapped with products";
  const std::string split = "--tensor-model-parallel-size 2 --sequence-parallel ";
  EXPECT_EQ(MegatronArgument(split, overlap), "--tp-comm-overlap");
  EXPECT_EQ(MegatronArgument(split + "--transformer-impl local", overlap), "");
  EXPECT_EQ(MegatronArgument(split + "--transformer-impl local --tp-comm-overlap", overlap), "");
}

// 8 samples of each rank, unless the configuration gives the global batch.
TEST(ChangesTest, TorchtitansBatchFollowsItsRanks) {
  const auto samples = [](const std::string& more, const std::string& change) {
    return Named(ChangesOf(more), change).run.job.training().global_batch_samples();
  };
  EXPECT_EQ(samples("", kTwo), 32);
  EXPECT_EQ(samples("", "tensor parallelism 2 instead of 1"), 16);
  EXPECT_EQ(samples("", "pipeline stages 2 instead of 4"), 64);
  EXPECT_EQ(samples("[training]\nglobal_batch_size = 64\n", "tensor parallelism 2 instead of 1"),
            64);
}

// A pipeline cuts the batch and shards in another way than one stage does.
TEST(ChangesTest, TorchtitanIsNotToldToLeaveItsPipeline) {
  for (const Change& change : ChangesOf("", "2"))
    EXPECT_GT(change.run.degrees.pipeline(), 1) << change.text;
  for (const Change& change : ChangesOf("", "1"))
    EXPECT_EQ(change.run.degrees.pipeline(), 1) << change.text;
  EXPECT_FALSE(Named(ChangesOf("", "2"), "pipeline stages 4 instead of 2").text.empty());
}

TEST(ChangesTest, LayersThatDoNotDivideMakeUnequalChunks) {
  const std::vector<Change> changes =
      ChangesOf("pipeline_parallel_first_stage_less_layers = 2\n");  // 35 counted
  EXPECT_EQ(Named(changes, "pipeline stages 8 instead of 4").run.chunks,
            (std::vector<int64_t>{3, 5, 5, 4, 4, 4, 4, 3}));
}

TEST(ChangesTest, TorchtitanIsToldTheLayersOfMoreThanTwoStages) {
  const std::vector<Change> changes = ChangesOf(kInterleaved);
  EXPECT_EQ(Named(changes, kOne).argument, "parallelism.pipeline_parallel_schedule = \"1F1B\"");
  EXPECT_EQ(Named(changes, kFour).text, "") << "34 layers make 12 or 17 stages, not 16";
  const std::vector<Change> divided = ChangesOf(std::string(kInterleaved) +
                                                "pipeline_parallel_first_stage_less_layers = 0\n"
                                                "pipeline_parallel_last_stage_less_layers = 0\n");
  EXPECT_EQ(Named(divided, kFour).argument, "parallelism.pipeline_parallel_layers_per_stage = 2");
  EXPECT_EQ(Named(divided, kFour).run.chunks, std::vector<int64_t>(16, 2));
  const std::vector<Change> told = ChangesOf("pipeline_parallel_layers_per_stage = 9\n");
  EXPECT_EQ(Named(told, kTwo).argument,
            "parallelism.pipeline_parallel_schedule = \"Interleaved1F1B\" without "
            "parallelism.pipeline_parallel_layers_per_stage");
  EXPECT_EQ(Named(told, kTwo).run.degrees.virtual_stages(), 2);
}

TEST(ChangesTest, ALossThatHoldsAPartOfTheLogitsIsTried) {
  const std::string liger = "a loss that holds a part of the logits (Liger's)";
  const auto changes = [](const std::string& more) {
    return ChangesIn(
        "{\"output_dir\": \"o\", \"model_name_or_path\": \"meta-llama/Meta-Llama-3-8B\", "
        "\"num_train_epochs\": 1, \"max_length\": 4096, \"bf16\": true" +
            more + "}",
        "args.json");
  };
  const Change change = Named(changes(", \"loss_type\": \"nll\""), liger);
  EXPECT_EQ(change.argument, "\"use_liger_kernel\": true");
  EXPECT_LT(change.run.job.training().execution().loss_logit_bytes(), 1);
  EXPECT_EQ(Named(changes(", \"use_liger_kernel\": true"), liger).text, "");
  EXPECT_EQ(Named(changes(""), liger).text, "") << "TRL's default holds a part, too";
}

// Version 1 of FSDP takes no truth value, and a key of fsdp_config comes before the words.
TEST(ChangesTest, EachVersionOfFsdpIsToldItsOwnWords) {
  const auto keeps = [](const std::string& more) {
    return Named(ChangesIn("{\"model_name_or_path\": \"meta-llama/Meta-Llama-3-8B\", "
                           "\"per_device_train_batch_size\": 1, \"model_max_length\": 4096, "
                           "\"bf16\": true, \"fsdp\": \"full_shard auto_wrap\"" +
                               more + "}",
                           "args.json"),
                 "shard_grad_op instead of full_shard")
        .argument;
  };
  EXPECT_EQ(keeps(""), "\"shard_grad_op\" in \"fsdp\"");
  EXPECT_EQ(keeps(", \"fsdp_config\": {\"version\": 1}"), "\"shard_grad_op\" in \"fsdp\"");
  EXPECT_EQ(keeps(", \"fsdp_config\": {\"version\": 2}"),
            "in \"fsdp_config\", \"reshard_after_forward\": false");
  EXPECT_EQ(keeps(", \"fsdp_config\": {\"version\": 1, \"reshard_after_forward\": \"FULL_SHARD\"}"),
            "in \"fsdp_config\", \"reshard_after_forward\": \"SHARD_GRAD_OP\"");
}

TEST(ChangesTest, AReentrantCheckpointUnderFsdpIsReplaced) {
  const std::string plain = "a checkpoint that is not reentrant";
  const auto change = [&](const std::string& sharding, const char* reentrant) {
    return Named(ChangesIn("{\"model_name_or_path\": \"meta-llama/Meta-Llama-3-8B\", "
                           "\"per_device_train_batch_size\": 1, \"model_max_length\": 4096, "
                           "\"bf16\": true, \"gradient_checkpointing\": true, "
                           "\"gradient_checkpointing_kwargs\": {\"use_reentrant\": " +
                               std::string(reentrant) + "}" + sharding + "}",
                           "args.json"),
                 plain);
  };
  const std::string shards = ", \"fsdp\": \"full_shard auto_wrap\"";
  const Change once = change(shards, "true");
  EXPECT_EQ(once.argument, "\"gradient_checkpointing_kwargs\": {\"use_reentrant\": false}");
  EXPECT_FALSE(once.run.job.training().execution().gathers_to_recompute());
  EXPECT_EQ(change(shards, "false").text, "");
  EXPECT_EQ(change("", "true").text, "") << "without FSDP";
}

TEST(ChangesTest, AxolotlIsToldTheWordsOfItsVersionOfFsdp) {
  const auto keeps = [](const std::string& fsdp) {
    std::string argument =
        Named(ChangesIn("base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 1\n"
                        "sequence_len: 4096\ndatasets:\n  - path: a\n" +
                            fsdp,
                        "train.yml"),
              "shard_grad_op instead of full_shard")
            .argument;
    absl::StrReplaceAll(Axolotl().words, &argument);
    return argument;
  };
  EXPECT_EQ(keeps("fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_version: 1\n"),
            "fsdp: [shard_grad_op, auto_wrap]");
  EXPECT_EQ(keeps("fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"),
            "in fsdp_config, fsdp_sharding_strategy: SHARD_GRAD_OP");
  EXPECT_EQ(keeps("fsdp_version: 2\nfsdp_config:\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"),
            "in fsdp_config, reshard_after_forward: false");
}

TEST(ChangesTest, OtherDispatchersOfExpertsAreTried) {
  const auto changes = [](const std::string& more) {
    return ChangesIn(
        "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
        "--ffn-hidden-size 14336 --num-experts 8 --moe-router-topk 2 --seq-length 4096 "
        "--vocab-size 32000 --expert-model-parallel-size 8 --micro-batch-size 1 "
        "--global-batch-size 64 --bf16 " +
            more,
        "run.sh");
  };
  const std::vector<Change> nccl = changes("--moe-token-dispatcher-type alltoall");
  EXPECT_EQ(Named(nccl, "experts' rows exchanged by DeepEP").argument,
            "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep");
  EXPECT_EQ(Named(nccl, "experts' rows exchanged by NCCL's all-to-all").text, "");
  EXPECT_EQ(Named(nccl, "tensor parallelism 2 instead of 1").argument,
            "--tensor-model-parallel-size 2 --sequence-parallel");
  EXPECT_EQ(Named(changes("--moe-token-dispatcher-type flex --moe-enable-deepep"),
                  "experts' rows exchanged by NCCL's all-to-all")
                .argument,
            "--moe-token-dispatcher-type alltoall without --moe-enable-deepep");
}

// A pipeline cuts the batch of a rank, whose size is another setting.
TEST(ChangesTest, TorchtitansPipelineHasMicroBatchesOfItsOwn) {
  const std::string text = "micro-batches of 2 instead of 1";
  EXPECT_EQ(Named(ChangesOf(""), text).argument,
            "parallelism.pipeline_parallel_microbatch_size = 2");
}

// Returns the settings to write for changes that offload to host memory, by their texts.
std::map<std::string, std::string> OffloadAdvice(const std::string& text, const std::string& file,
                                                 bool fits = false) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.gpus = {8};
  flags.model = "llama3-8b";
  flags.token_cap = 4096;
  const UserConfig config = ReadConfigText(text, file);
  std::map<std::string, std::string> advice;
  for (Change& change : OffloadChanges(RunOf(config, flags), fits, config.format)) {
    if (config.front_end != nullptr) absl::StrReplaceAll(config.front_end->words, &change.argument);
    advice[change.text] = change.argument;
  }
  return advice;
}

TEST(ChangesTest, HostMemoryIsTriedWhereARunDoesNotFit) {
  constexpr char kOptimizer[] = "the optimizer in host memory";
  constexpr char kWeights[] = "weights and the optimizer in host memory";
  using Advice = std::map<std::string, std::string>;
  const auto swift = [](const std::string& engine, bool fits = false) {
    return OffloadAdvice(
        "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B --train_type full "
        "--torch_dtype bfloat16 --max_length 512 " +
            engine + "\n",
        "run.sh", fits);
  };
  EXPECT_EQ(swift("--deepspeed zero2"), (Advice{{kOptimizer, "--deepspeed zero2_offload"}}));
  EXPECT_EQ(swift("--deepspeed zero3").at(kWeights), "--deepspeed zero3_offload");
  EXPECT_EQ(swift("--deepspeed zero3").at(kOptimizer),
            "in \"deepspeed\", \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": "
            "{\"device\": \"cpu\"}}");
  EXPECT_EQ(swift("--deepspeed zero3", /*fits=*/true), Advice());
  EXPECT_EQ(swift(""), Advice()) << "nothing is sharded";
  EXPECT_EQ(swift("--deepspeed zero2_offload"),
            (Advice{{"nothing in host memory",
                     "in \"deepspeed\", \"zero_optimization\" without \"offload_optimizer\" and "
                     "\"offload_param\""}}));
  EXPECT_EQ(OffloadAdvice("base_model: NousResearch/Meta-Llama-3-8B\nmicro_batch_size: 1\n"
                          "sequence_len: 4096\nfsdp_version: 2\nfsdp_config:\n"
                          "  reshard_after_forward: true\n",
                          "train.yml"),
            (Advice{{kWeights, "in fsdp_config, offload_params: true"}}));
  EXPECT_EQ(OffloadAdvice("[model]\nname = \"llama3\"\nflavor = \"8B\"\n", "train.toml"),
            (Advice{{kWeights, "training.enable_cpu_offload = true"}}));
}

TEST(ChangesTest, DeepSpeedsObjectsStandInItsFile) {
  const std::string stage = "in \"deepspeed\", \"zero_optimization\": {\"stage\": 1}";
  EXPECT_EQ(InSyntax(Syntax::kScript, stage), stage);
  EXPECT_EQ(InSyntax(Syntax::kScript, "\"accelerator_config\": {\"a\": 1}"),
            "--accelerator_config '{\"a\": 1}'");
  std::string of_swift = stage;
  absl::StrReplaceAll(MsSwift().words, &of_swift);
  EXPECT_EQ(of_swift, "--deepspeed zero1");
}

TEST(ChangesTest, LinesOfAYamlStayLines) {
  FromAnswer answer{.path = "sft.yaml"};
  answer.changes.best.push_back({.text = "a change", .argument = "one: 1\ntwo: 2"});
  EXPECT_NE(RenderFrom(Style(), answer).find("     one: 1\n     two: 2\n"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::cli
