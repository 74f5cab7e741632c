#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "planner/cost/uncertainty.h"
#include "planner/hardware/gpu_costs.h"
#include "tests/validation/harness/bounds.h"
#include "tests/validation/harness/evaluate.h"
#include "tests/validation/harness/report.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("rows_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  Cases Read() { return ReadFolder(folder_.string()); }

  std::filesystem::path folder_;
};

constexpr char kVtrain[] = R"json({
 "setup": {"gpu": "A100-80GB (said so)", "vocab": "51200 (inferred)", "recompute": "full",
           "inter_node": "8 x 100 Gb/s", "unknown": [1, {"a": null}]},
 "rows": [
  {"id": "a", "gpus": 64, "global_batch": 512, "micro_batch": 4, "hidden": 3072, "heads": 32,
   "layers": 30, "seq_len": 2048, "tp": 1, "dp": 64, "pp": 1, "measured": {"iter_ms": 3638.3}},
  {"id": "b", "hidden": 3072, "heads": 32, "layers": 30, "tp": 1, "dp": 64, "pp": 1},
  {"id": "c", "gpu": "TPU", "hidden": 3072, "heads": 32, "layers": 30, "tp": 1,
   "measured": {"iter_ms": 1}},
  {"id": "d", "something": "else"},
  {}]})json";

constexpr char kIndex[] = R"json({"cases": [
  {"area": "time", "file": "any_name.json", "row": "a", "metric": "iteration",
   "tolerance_pct": 20},
  {"area": "time", "row": 7, "tolerance_pct": null}]})json";

constexpr char kMegatron[] = R"json({
 "id": "r", "gpus": {"dgx_h100/a100": 8},
 "config": {
  "num-layers": 16, "hidden-size": 1024, "num-attention-heads": 32, "kv-channels": 128,
  "seq-length": 4096, "swiglu": true, "position-embedding-type": "rope", "num-experts": 32,
  "moe-ffn-hidden-size": 1024, "moe-layer-freq": "([0]*3+[1]*13)", "moe-router-topk": 4,
  "moe-grouped-gemm": true, "tensor-model-parallel-size": 2, "pipeline-model-parallel-size": 2,
  "pipeline-model-parallel-layout": "Et*3|(tt|)*6tmL", "mtp-num-layers": 1,
  "micro-batch-size": 4, "global-batch-size": 32, "expert-model-parallel-size": 4,
  "recompute-granularity": "selective", "recompute-modules": "[layernorm mlp moe_act]",
  "what-is-this": {"x": 1}},
 "measured": {"dev_dgx_h100": {"max_alloc_bytes": 1e9, "alloc_bytes": 5e8, "iter_s": 1}}})json";

TEST_F(FolderTest, RowsAreReadOrNamedWithTheReason) {
  Write("any_name.json", kVtrain);
  Write("list.json", "[1, 2]");
  const Cases cases = Read();
  ASSERT_EQ(cases.covered.size(), 1u);
  const Case& run = cases.covered.front();
  EXPECT_EQ(run.id, "a");
  EXPECT_EQ(run.family, "any_name");
  EXPECT_EQ(run.spec.micro_batches, 2);
  EXPECT_DOUBLE_EQ(run.job.cluster.inter_node_bytes_per_second, 12.5e9);
  ASSERT_EQ(cases.uncovered.size(), 5u);
  EXPECT_EQ(cases.uncovered[0].reason, "no iteration time");
  EXPECT_EQ(cases.uncovered[1].reason, "GPU TPU is not in the catalogue");
  EXPECT_EQ(cases.uncovered[2].reason, "no schema that is known");
  const Outcome outcome = Evaluate(run);
  EXPECT_TRUE(outcome.fault.empty()) << outcome.fault;
  ASSERT_TRUE(outcome.predicted.front().has_value());
  EXPECT_NEAR(*outcome.predicted.front(), 3638.3e6, 0.5 * 3638.3e6);
}

TEST_F(FolderTest, BrokenFilesAreErrors) {
  Write("broken.json", "{");
  EXPECT_THROW(Read(), std::runtime_error);
}

TEST_F(FolderTest, AnEmptyFolderIsAnError) { EXPECT_THROW(Read(), std::runtime_error); }

TEST_F(FolderTest, TheIndexIsRead) {
  Write("any_name.json", kVtrain);
  Write("cases.json", kIndex);
  const Cases cases = Read();
  ASSERT_EQ(cases.index.size(), 2u);
  EXPECT_EQ(cases.index[0].file, "any_name");
  EXPECT_DOUBLE_EQ(cases.index[0].tolerance, 0.2);
  EXPECT_EQ(cases.index[1].tolerance, 0);
}

// A row that is far from the model must break a bound, which shows that the report can fail.
TEST_F(FolderTest, WrongRowsBreakBounds) {
  std::string rows = kVtrain;
  rows.replace(rows.find("3638.3"), 6, "9999.9");
  Write("any_name.json", rows);
  const Cases cases = Read();
  const std::vector<Result> results = {{&cases.covered.front(), Evaluate(cases.covered.front())}};
  testing::internal::CaptureStdout();
  const int broken = Report(results, cases, {});
  EXPECT_NE(testing::internal::GetCapturedStdout().find("BROKEN"), std::string::npos);
  EXPECT_EQ(broken, 1);
}

// Returns whether the sustained clock of the row's family was fitted on the row.
bool WasFitted(const Case& run) {
  if (run.family == "megatron_core_h100") return run.spec.parallelism.pipeline > 1;
  return run.family == "simumax_b200";
}

// The error that plans state is the error on the shipped rows that were not used for fitting.
TEST(UncertaintyTest, IsTheErrorOnTheShippedRowsThatNothingWasFittedTo) {
  using planner::GpuGeneration;
  std::map<GpuGeneration, std::pair<double, int64_t>> times;
  double memory = 0;
  int64_t peaks = 0, fitted = 0;
  const Cases cases = ReadFolder(EVENKEEL_SOURCE_DIR "/tests/validation/measured");
  for (const Case& run : cases.covered) {
    if (run.family.find("(hidden < 1024)") != std::string::npos) continue;
    // Few plans are of that kind.
    if (run.job.training.execution.deterministic) continue;
    const Outcome outcome = Evaluate(run);
    const GpuGeneration generation = run.job.cluster.gpu.costs.generation;
    for (size_t i = 0; i < run.measured.size(); ++i) {
      const Measurement& m = run.measured[i];
      if (!m.bounded || !outcome.predicted[i]) continue;
      const double error = std::abs(ErrorOf(m.figure, *outcome.predicted[i], m.value));
      if (m.figure == Figure::kAllocated) memory += error, ++peaks;
      if (m.figure != Figure::kIteration) continue;
      if (WasFitted(run))
        ++fitted;
      else
        times[generation].first += error, ++times[generation].second;
    }
  }
  EXPECT_EQ(fitted, 27);
  EXPECT_NEAR(planner::UncertaintyOf({.generation = GpuGeneration::kAmpere}, false).memory,
              memory / static_cast<double>(peaks), 0.002);
  ASSERT_EQ(times.size(), 2u);
  for (const auto& [generation, sum] : times) {
    const planner::Uncertainty said = planner::UncertaintyOf({.generation = generation}, false);
    EXPECT_NEAR(said.step_time, sum.first / static_cast<double>(sum.second), 0.001);
    EXPECT_NE(said.source.find(std::to_string(sum.second) + " published"), std::string::npos);
  }
  for (const GpuGeneration generation :
       {GpuGeneration::kBlackwell, GpuGeneration::kAda, GpuGeneration::kOther})
    EXPECT_EQ(planner::UncertaintyOf({.generation = generation}, false).step_time, 0);
}

TEST(MegatronRowTest, ArgumentsBecomeAJob) {
  const Json row = Json::parse(kMegatron);
  Cases cases;
  ReadMegatronRow("file", row, cases);
  ASSERT_EQ(cases.covered.size(), 1u);
  const Case& run = cases.covered.front();
  EXPECT_EQ(run.spec.parallelism.virtual_stages, 4);
  EXPECT_EQ(run.spec.parallelism.data, 2);
  EXPECT_EQ(run.spec.micro_batches, 4);
  ASSERT_EQ(run.spec.chunks.size(), 8u);
  EXPECT_EQ(run.spec.chunks[0].layers[0].count, 3);
  EXPECT_EQ(run.spec.chunks[0].layers[0].kind, planner::LayerKind::kDense);
  EXPECT_EQ(run.spec.chunks[0].layers[0].recomputed[0].parts,
            static_cast<planner::RecomputeParts>(planner::kNorms | planner::kMlp));
  EXPECT_EQ(run.spec.chunks[7].layers[0].count, 1);
  EXPECT_EQ(run.spec.chunks[7].layers[0].recomputed[0].parts,
            static_cast<planner::RecomputeParts>(planner::kNorms | planner::kActivation));
  EXPECT_EQ(run.job.model.language_model.predicted_tokens, 1);
  EXPECT_EQ(run.measured.size(), 3u);
}

TEST(ReportTest, KendallTauCountsPairs) {
  EXPECT_DOUBLE_EQ(KendallTau({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_DOUBLE_EQ(KendallTau({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_NEAR(KendallTau({1, 2, 3, 4}, {1, 2, 4, 3}), 4.0 / 6, 1e-12);
  EXPECT_NEAR(KendallTau({1, 1, 2}, {1, 2, 3}), 2 / std::sqrt(6.0), 1e-12);
  EXPECT_EQ(KendallTau({1, 1}, {1, 2}), 0);
}

TEST(ReportTest, OutOfMemoryOnOneSideIsNoCount) {
  EXPECT_EQ(ErrorOf(Figure::kRecomputed, kNoFit, kNoFit), 0);
  EXPECT_GT(ErrorOf(Figure::kRecomputed, kNoFit, 32), 50);
  EXPECT_LT(ErrorOf(Figure::kRecomputed, 32, kNoFit), -50);
  EXPECT_EQ(ErrorOf(Figure::kRecomputed, 7, 8), -1);
  EXPECT_NEAR(ErrorOf(Figure::kAllocated, 11, 10), 0.1, 1e-12);
}

TEST(BoundsTest, OtherFoldersAreHeldToTheAims) {
  EXPECT_EQ(BoundOf("some_new_file", Figure::kAllocated).worst, 0.05);
  EXPECT_EQ(BoundOf("some_new_file", Figure::kIteration).mean, 0.08);
  EXPECT_EQ(BoundOf("megatron_golden", Figure::kAllocated).worst, 0.05);
}

}  // namespace
}  // namespace evenkeel::validation
