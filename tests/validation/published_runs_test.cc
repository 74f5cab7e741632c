// Tests that predictions on published runs of many trainers (tests/validation/runs) get no worse.
// Each bound is just above the present error. If you lower an error, lower its bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/validation/harness/evaluate.h"
#include "tests/validation/harness/precision_pairs.h"
#include "tests/validation/harness/rows.h"
#include "tests/validation/harness/run_report.h"

namespace evenkeel::validation {
namespace {

struct FamilyBound {
  std::string_view family;
  double time = 0, memory = 0;  // mean absolute error; 0 if no row has one
};

constexpr FamilyBound kBounds[] = {
    {"a4x-gb200, dispatchers", 0.013, 0},
    {"accelerate-granite", 0, 0},
    {"atorch", 0.096, 0.276},
    {"automodel-checkpointing", 0, 0.014},
    {"aws-dispatchers", 0.140, 0},
    {"aws-dispatchers, dispatchers", 0.117, 0},
    {"aws-kimi-k2", 0.103, 0},
    {"aws-kimi-k2, dispatchers", 0.146, 0},
    {"aws-qwen3-8b", 0.062, 0.047},
    {"bignlp-5b", 0.107, 0},
    {"bloom-prequel", 0, 0.134},
    {"bridge-qwen3-30b-h100", 0, 0},
    {"bridge-qwen3-30b-h100, dispatchers", 0.195, 0.083},
    {"colossalai-lightning", 0, 0.097},
    {"deepspeed-autotuning, racks", 0, 0},
    {"dgxc-benchmarking", 0.020, 0},
    {"dgxc-benchmarking, low precision", 0.043, 0},
    {"dgxc-benchmarking, racks", 0, 0},
    {"dgxc-nemotron-llama70b", 0.021, 0},
    {"dgxc-nemotron-llama70b, low precision", 0.023, 0},
    {"dgxc-nemotron-llama70b, racks", 0, 0},
    {"dlperf-megatron-v100", 0.041, 0},
    {"easycontext", 0, 0},
    {"enoki-fsdp-h100", 0, 0.101},
    {"flagperf", 0.104, 0.149},
    {"flagperf, low precision", 0.064, 0.154},
    {"flash-attention-training", 0.076, 0},
    {"fms-acceleration", 0.035, 0.029},
    {"fms-acceleration, 4-bit weights", 0.023, 0.118},
    {"fms-fsdp", 0.022, 0},
    {"framework-matrix-qwen3-14b", 0, 0.196},
    {"fsdp-qlora", 0.176, 0.167},
    {"fsdp-qlora, 4-bit weights", 0.152, 0.206},
    {"gipfelsturm-gh200", 0.033, 0.007},
    {"gipfelsturm-gh200, 16-bit moments", 0.075, 0},
    {"gipfelsturm-gh200, low precision", 0, 0},
    {"gpt2-trainer-2xh200", 0.131, 0.028},
    {"gpu-recipes", 0.068, 0},
    {"huggingface-h100", 0.108, 0.009},
    {"huggingface-h200", 0.121, 0.007},
    {"internevo", 0.029, 0.065},
    {"jupiter-oellm-32b", 0, 0},
    {"kempnerforge", 0.156, 0.044},
    {"korthikanti-2022", 0.038, 0},
    {"ladder-88m-rtx4090", 0.287, 0.090},
    {"libai-megatron", 0, 0},
    {"lightning-mingpt-fsdp", 0, 0.300},
    {"lightning-thunder", 0.076, 0.063},
    {"litgpt", 0, 0.037},
    {"litgpt, 4-bit weights", 0, 0.190},
    {"llava", 0.080, 0},
    {"llm-foundry", 0.059, 0},
    {"llm-foundry, low precision", 0.138, 0},
    {"marinfold-nemo", 0.246, 0},
    {"megascale", 0, 0},
    {"megatron-bridge-cards", 0.432, 0},
    {"megatron-bridge-cards, dispatchers", 0.126, 0},
    {"megatron-bridge-cards, racks", 0.233, 0},
    {"megatron-bridge-cards, recurrent layers", 0.093, 0},
    {"megatron-bridge-cards, windows", 0.034, 0},
    {"megatron-bridge-skills, 16-bit moments", 0.207, 0.063},
    {"megatron-bridge-skills, recurrent layers", 0.188, 0.045},
    {"megatron-bridge-summary, dispatchers", 0.071, 0},
    {"megatron-bridge-summary, low precision", 0.175, 0},
    {"megatron-bridge-summary, racks", 0.063, 0},
    {"megatron-bridge-summary, recurrent layers", 0.191, 0},
    {"megatron-bridge-summary, windows", 0.149, 0},
    {"megatron-golden-hybrid, recurrent layers", 0, 0.084},
    {"megatron-lm-llama-fp8, low precision", 0, 0},
    {"mlperf-5.1, low precision", 0.078, 0},
    {"mlperf-5.1, racks", 0.174, 0},
    {"mlperf6-dsv3, dispatchers", 0, 0},
    {"mlperf6-gptoss, windows", 0.170, 0},
    {"mlperf6-llama-nvfp4, low precision", 0.030, 0},
    {"mlperf6-llama-nvfp4, racks", 0.184, 0},
    {"modded-nanogpt", 0.497, 0.080},
    {"moe-modelzoo-qwen3, dispatchers", 0.060, 0},
    {"mosaicgpt", 0, 0},
    {"ms-swift", 0.070, 0.043},
    {"nanochat-d20-h100", 0.379, 0.151},
    {"nanotron", 0.099, 0.049},
    {"nanotron-1.5b", 0.063, 0.059},
    {"nanotron-bench", 0.183, 0.049},
    {"nebius-poc-h200", 0.131, 0.049},
    {"nebius-qwen3-h100", 0.098, 0.025},
    {"nebius-qwen3-h100, low precision", 0.140, 0.010},
    {"nebius-qwen3-h200-eth", 0.227, 0.047},
    {"nebius-qwen3-h200-eth, low precision", 0.064, 0.008},
    {"nemo-24.07, low precision", 0, 0},
    {"nemo-automodel, dispatchers", 0.192, 0},
    {"nemo-automodel, windows", 0.107, 0},
    {"nemo-automodel-lora", 0.105, 0},
    {"nemo-automodel-lora, dispatchers", 0, 0},
    {"nemo-b200", 0.279, 0.009},
    {"nemo-b200, low precision", 0.025, 0.141},
    {"nemotron-nano-gh200, recurrent layers", 0, 0.259},
    {"nemotron-super-b300, recurrent layers", 0, 0.125},
    {"olmo-1b-h200", 0, 0.105},
    {"olmo-core", 0.033, 0},
    {"olmo-core, low precision", 0.071, 0},
    {"paddlenlp", 0.109, 0.038},
    {"peft-llama70b", 0, 0.208},
    {"peft-llama70b, 4-bit weights", 0, 0.156},
    {"peft-metamathqa", 0, 0.021},
    {"pretraining-bench", 0, 0.459},
    {"prime-rl-235b-b300", 0, 0.136},
    {"prime-rl-sft", 0.185, 0.056},
    {"qwen-profile", 0.072, 0.074},
    {"qwen-profile, 4-bit weights", 0.208, 0.093},
    {"rasbt-gpt124m-a100", 0, 0.255},
    {"simumax-b200", 0.029, 0.005},
    {"smollm3-fsdp2", 0.424, 0},
    {"swift-benchmark", 0, 0.236},
    {"swift-fsdp2-megatron-h100", 0.220, 0.088},
    {"swift-liger", 0, 0.042},
    {"swift-megatron-examples", 0, 0.093},
    {"swift-megatron-examples, 16-bit moments", 0, 0.026},
    {"swiss-ai-gh200", 0, 0},
    {"tinyllama", 0.005, 0},
    {"torchao-float8", 0.270, 0.021},
    {"torchao-float8, low precision", 0.390, 0.025},
    {"torchao-float8nocompile", 0, 0.074},
    {"torchao-float8nocompile, low precision", 0, 0.091},
    {"torchao-mx-b200", 0, 0.203},
    {"torchao-mx-b200, low precision", 0, 0.154},
    {"torchtitan", 0.025, 0},
    {"torchtitan, low precision", 0.104, 0.021},
    {"torchtitan-async-tp", 0.011, 0},
    {"torchtitan-async-tp, low precision", 0.060, 0},
    {"torchtitan-gb200, racks", 0, 0.114},
    {"torchtitan-lambda-b200", 0.038, 0.469},
    {"torchtitan-lambda-b200, windows", 0, 0.119},
    {"torchtitan-lambda-gb300, windows", 0, 0.176},
    {"torchtitan-performance", 0.040, 0.035},
    {"torchtitan-performance, low precision", 0.049, 0.035},
    {"torchtitan-prs-h100", 0.029, 0.074},
    {"torchtitan-qwen3-14b-b200", 0.056, 0.039},
    {"torchtitan-qwen3-14b-b200, low precision", 0, 0.052},
    {"torchtitan-qwen3-30b-h200", 0, 0.151},
    {"torchtitan-qwen3-32b", 0.159, 0.042},
    {"torchtune-flags", 0, 0.103},
    {"torchtune-flags, 4-bit weights", 0, 0.874},
    {"trl-long-context", 0.048, 0.135},
    {"universal-llm-trainer", 0, 0.139},
    {"vectorlm", 0.036, 0},
    {"vocabulary-parallelism", 0.143, 0.034},
    {"vtrain-multi", 0.104, 0},
    {"vtrain-single", 0.062, 0},
    {"xtuner-llama3", 0.162, 0},
    {"xtuner-moe", 0.111, 0},
    {"xtuner-moe, dispatchers", 0.020, 0},
    {"xtuner-speed", 0, 0},
    {"yafsdp", 0, 0},
    {"zero-bubble", 0, 0},
    {"zero-bubble-v", 0, 0},
};

std::vector<FamilyErrors> Today(Cases& cases) {
  cases = ReadPublishedRuns(EVENKEEL_SOURCE_DIR "/tests/validation/runs");
  std::vector<Result> results;
  for (const Case& run : cases.covered) results.push_back({&run, Evaluate(run)});
  for (const Result& result : results) EXPECT_EQ(result.outcome.fault, "") << result.run->id;
  return ErrorsOf(results);
}

TEST(PublishedRunsTest, ErrorsGetNoWorse) {
  Cases cases;
  const std::vector<FamilyErrors> families = Today(cases);
  EXPECT_EQ(families.size(), std::size(kBounds));
  for (const FamilyErrors& family : families) {
    const auto* const bound =
        std::find_if(std::begin(kBounds), std::end(kBounds),
                     [&](const FamilyBound& of) { return of.family == family.family; });
    ASSERT_NE(bound, std::end(kBounds)) << family.family;
    EXPECT_LE(family.time.mean_absolute, bound->time) << family.family;
    EXPECT_LE(family.memory.mean_absolute, bound->memory) << family.family;
  }
}

TEST(PublishedRunsTest, PairsThatDifferInPrecisionAreToldApart) {
  const Cases cases = ReadPublishedRuns(EVENKEEL_SOURCE_DIR "/tests/validation/runs");
  std::vector<Result> results;
  for (const Case& run : cases.covered) results.push_back({&run, Evaluate(run)});
  const PrecisionPairs pairs = PrecisionPairsOf(results);
  EXPECT_GE(pairs.pairs, 30);
  EXPECT_LE(pairs.error, 0.06);
  EXPECT_GE(pairs.right * 10, pairs.pairs * 9);
}

TEST(PublishedRunsTest, EveryRowIsCoveredOrHasAReason) {
  const Cases cases = ReadPublishedRuns(EVENKEEL_SOURCE_DIR "/tests/validation/runs");
  EXPECT_GE(cases.covered.size(), 1000u);
  for (const Uncovered& row : cases.uncovered) EXPECT_FALSE(row.reason.empty()) << row.id;
}

// Returns a row of FILE.jsonl in its published form. `keys` are added or replace others.
std::string Line(const std::string& id, const Json& keys) {
  Json row = Json::parse(R"({"family": "mine", "trainer": {"name": "megatron-lm", "version": "x"},
      "model": {"name": "m", "layers": 24, "hidden": 2048, "heads": 16, "kv_heads": 16,
                "head_dim": 128, "ffn": 8192, "gated_mlp": false, "norm": "layernorm",
                "vocab": 51200, "tied": true, "moe": null, "attention": "mha",
                "attention_detail": {"positions": "learned"}},
      "trains": "full", "vision": null, "gpu": "A100-SXM-80GB", "gpus": 8, "gpus_per_node": 8,
      "scaleup_domain_gpus": 8, "inter_node_gbytes_per_s_per_gpu": null, "tp": 2, "pp": 1, "cp": 1,
      "ep": 1, "etp": 1, "vpp": 1, "dp": 4, "zero": 1, "micro_batch": 1, "grad_accum": 8,
      "global_batch": 32, "seq_len": 2048, "precision": "bf16", "recompute": "none",
      "attention_kernel": null, "dispatcher": null, "compiled": null, "routing": null,
      "overlap": {"tp": null, "grad_reduce": null, "param_gather": null, "ep": null},
      "measured": {"step_s": 2.5, "peak_gib": 14.5, "peak_kind": "allocated", "peak_stage": null},
      "group": null, "ran_out_of_memory": false, "complete": true, "missing": [], "weak": "",
      "notes": ""})");
  row["id"] = id;
  row.update(keys);
  return row.dump() + "\n";
}

Cases ReadLines(const std::string& lines) {
  const std::string path = ::testing::TempDir() + "published_runs_test.jsonl";
  std::ofstream(path) << lines;
  return ReadPublishedRuns(path);
}

TEST(PublishedRunsTest, AFileOfLinesNeedsNoFolder) {
  const Cases cases = ReadLines(Line("plain", Json::object()) + "\n" +
                                Line("grouped", {{"group", "g | 8"}, {"weak", "heads inferred"}}));
  ASSERT_EQ(cases.covered.size(), 2u);
  const Case& plain = cases.covered[0];
  EXPECT_EQ(plain.family, "mine");
  EXPECT_FALSE(plain.weak);
  EXPECT_EQ(plain.group, "");
  EXPECT_EQ(plain.job.training.trainer->name, "megatron-core");
  EXPECT_TRUE(plain.job.training.execution.sequence_parallel);
  EXPECT_EQ(plain.measured.size(), 2u);
  EXPECT_EQ(Evaluate(plain).fault, "");
  EXPECT_TRUE(cases.covered[1].weak);
  EXPECT_EQ(cases.covered[1].group, "g | 8");
}

TEST(PublishedRunsTest, NotesSayWhatNoKeySays) {
  const Cases cases = ReadLines(
      Line("a", {{"notes", "no sequence parallel; dropout on; 16-bit gradients (assumed)"}}) +
      Line("b", {{"notes", "dropout 0, fused loss, fp32 gradients; CUDA graphs: local"}}) +
      Line("c", {{"notes", "memory is of the last rank; sequence parallel"}}) +
      Line("d", {{"notes", "memory is of the last rank; pipeline layout Et*3|(tt|)*10tL"},
                 {"pp", 4},
                 {"tp", 1},
                 {"dp", 2},
                 {"grad_accum", 16}}));
  ASSERT_EQ(cases.covered.size(), 4u);
  const auto training = [&](size_t i) { return cases.covered[i].job.training; };
  EXPECT_FALSE(training(0).execution.sequence_parallel);
  EXPECT_TRUE(training(0).execution.dropout);
  EXPECT_FALSE(training(0).distributed_gradients_fp32);
  EXPECT_FALSE(training(1).execution.dropout);
  EXPECT_TRUE(training(1).distributed_gradients_fp32);
  EXPECT_EQ(training(1).execution.host_launch_ns, 0);
  EXPECT_TRUE(training(2).execution.sequence_parallel);
  EXPECT_TRUE(training(2).execution.dropout);
  EXPECT_FALSE(training(2).execution.fused_loss);
  EXPECT_EQ(cases.covered[3].spec.chunks.size(), 12u);
  EXPECT_EQ(cases.covered[3].spec.parallelism.virtual_stages, 3);
}

TEST(PublishedRunsTest, WhatIsMissingIsSaid) {
  const Cases cases = ReadLines(
      Line("a", {{"missing", {"micro_batch", "recompute"}}}) + Line("b", {{"gpus", nullptr}}) +
      Line("c", {{"model", {{"layers", nullptr}}}}) +
      Line("d", {{"vision", {{"name", "a tower"}}}}) + Line("e", {{"precision", "mxfp8"}}));
  EXPECT_TRUE(cases.covered.empty());
  std::vector<std::string> reasons;
  for (const Uncovered& row : cases.uncovered) reasons.push_back(row.reason);
  EXPECT_EQ(reasons,
            (std::vector<std::string>{"incomplete: micro_batch, recompute", "incomplete: gpus",
                                      "incomplete: model.layers", "encoders",
                                      "GPU A100-SXM-80GB has no products in mxfp8"}));
  EXPECT_THROW(ReadLines("not a row\n"), std::runtime_error);
}

// Returns the plan's part of each row, or why it is not covered.
std::vector<std::string> Reasons(const std::string& lines) {
  const Cases cases = ReadLines(lines);
  std::vector<std::string> reasons;
  for (const Case& run : cases.covered) reasons.push_back(run.id + ": covered");
  for (const Uncovered& row : cases.uncovered) reasons.push_back(row.id + ": " + row.reason);
  return reasons;
}

// Returns a row in which one key has another name.
std::string Renamed(const std::string& id, const char* ours, const char* theirs) {
  Json row = Json::parse(Line(id, Json::object()));
  Json& object = row.contains(ours) ? row : row["model"];
  object[theirs] = object[ours];
  object.erase(ours);
  return row.dump() + "\n";
}

TEST(PublishedRunsTest, OtherSourcesWordsAreUnderstood) {
  const Cases cases = ReadLines(
      Renamed("tp", "tp", "tensor_model_parallel_size") + Renamed("seq", "seq_len", "seq_length") +
      Renamed("heads", "heads", "num_attention_heads") +
      Line("text", {{"tp", "2"}, {"seq_len", "2,048"}, {"gpus", 8.0}}) +
      Line("gpu", {{"gpu", "NVIDIA A100-SXM4-80GB"}, {"precision", "BFloat16"}}) +
      Line("trainer", {{"trainer", "NeMo 2.0"}}) +
      Line("recompute", {{"recompute", {"core_attn", "mlp"}}}) +
      Line("derived", {{"grad_accum", nullptr}}) +
      Line("lora", {{"trains", {{"lora", {{"rank", "8"}, {"targets", {"q_proj", "v_proj"}}}}}}}));
  for (const Uncovered& row : cases.uncovered) ADD_FAILURE() << row.id << ": " << row.reason;
  ASSERT_EQ(cases.covered.size(), 9u);
  for (const Case& run : cases.covered) {
    EXPECT_EQ(run.spec.parallelism.tensor, 2) << run.id;
    EXPECT_EQ(run.spec.micro_batches, 8) << run.id;
    EXPECT_EQ(run.batching.mean.tokens, 2048) << run.id;
    EXPECT_EQ(Evaluate(run).fault, "") << run.id;
  }
  EXPECT_EQ(cases.covered[5].job.training.trainer->name, "nemo");
  EXPECT_EQ(cases.covered[8].job.model.language_model.lora.rank, 8);
  EXPECT_EQ(cases.covered[8].job.model.language_model.lora.targets,
            static_cast<uint32_t>(planner::kLoraQkv));
}

TEST(PublishedRunsTest, WhatIsNotUnderstoodIsRefusedWithAReason) {
  EXPECT_EQ(Reasons(Line("a", {{"recompute", "50%"}}) + Line("b", {{"precision", "int8"}}) +
                    Line("c", {{"dispatcher", "a new one"}}) + Line("d", {{"global_batch", 33}}) +
                    Line("e", {{"dp", 8}}) + Line("f", {{"trains", "lora"}}) +
                    Line("g", {{"gpu", "an abacus"}}) + Line("h", {{"trains", nullptr}}) +
                    Line("i", {{"trains", {{"lora", Json::object()}}}}) +
                    Line("j", {{"grad_accum", nullptr}, {"global_batch", nullptr}})),
            (std::vector<std::string>{
                "a: recompute \"50%\"", "b: precision int8", "c: dispatcher a new one",
                "d: impossible: global_batch = 33 in steps of 32",
                "e: impossible: dp = 8 with 4 ranks left", "f: trains lora", "g: GPU an abacus",
                "h: incomplete: trains", "i: incomplete: trains.lora.rank",
                "j: incomplete: grad_accum"}));
}

TEST(PublishedRunsTest, AWrongValueEndsNoReport) {
  const Cases wrong = ReadLines(
      Line("a", {{"tp", 0}}) + Line("b", {{"micro_batch", 1e30}}) + Line("c", {{"zero", "x"}}) +
      Line("d",
           {{"model",
             {{"layers", 2}, {"hidden", 64}, {"heads", 4}, {"kv_heads", 8}, {"vocab", 100}}}}));
  std::vector<std::string> reasons;
  for (const Uncovered& row : wrong.uncovered) reasons.push_back(row.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{
                         "impossible: tp = 0", "impossible: micro_batch = 1e+30",
                         "impossible: zero = \"x\"", "impossible: more kv_heads than heads"}));
  std::string lines;
  const Json whole = Json::parse(Line("whole", Json::object()));
  const Json values = {nullptr, 0, -1, 7, 1e30, 3.7, "x", "", true, Json::array(), Json::object()};
  for (const auto& [key, unused] : whole.items()) {
    for (const Json& value : values) lines += Line(key, {{key, value}});
  }
  for (const auto& [key, unused] : whole["model"].items()) {
    for (const Json& value : values) {
      Json model = whole["model"];
      model[key] = value;
      lines += Line(key, {{"model", model}});
    }
  }
  for (const Case& run : ReadLines(lines).covered) Evaluate(run);
}

}  // namespace
}  // namespace evenkeel::validation
