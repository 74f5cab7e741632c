// Compares with OmniBal's reports of whole trainings (arXiv 2407.20761, tables 4, 7, 9 and 15):
// GPU-days of an epoch of 1.2M samples. The data are a mix fitted to only one row of table 3
// (omnibal_mix.h), and the cost model's constants use nothing of these tables.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "planner/cost/uncertainty.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"
#include "tests/validation/omnibal_mix.h"

namespace evenkeel::planner {
namespace {

struct Case {
  const char* name;
  const char* encoder;
  const char* language_model;
  const char* gpu;
  Parallelism degrees;
  double network_bytes_per_second;  // per GPU: the node's network cards, shared by its 8 GPUs
  std::vector<int64_t> layers, recomputed;  // published, per stage
  double before, after;                     // GPU-days
};

constexpr double kFour200 = 12.5e9, kTwo200 = 6.25e9, kEight400 = 50e9;
constexpr const char* kVit = "internvit-6b-448px-v1.5";
constexpr const char* kA100 = "a100-sxm-80gb";

std::vector<Case> TableNine() {
  return {
      {"t9-1",
       kVit,
       "llama3-8b",
       kA100,
       {1, 4, 8},
       kFour200,
       {16, 17, 20, 24},
       {8, 7, 10, 24},
       27.7,
       13.8},
      {"t9-2",
       kVit,
       "internlm2-20b",
       kA100,
       {2, 4, 4},
       kFour200,
       {22, 23, 24, 24},
       {0, 0, 0, 0},
       61.8,
       21.3},
      {"t9-3",
       kVit,
       "yi-34b",
       kA100,
       {4, 4, 2},
       kFour200,
       {28, 29, 24, 24},
       {3, 2, 0, 0},
       75.4,
       30.5},
      {"t9-5",
       kVit,
       "qwen1.5-110b",
       kA100,
       {8, 8, 1},
       kFour200,
       {21, 22, 13, 13, 14, 14, 14, 14},
       {6, 9, 1, 3, 0, 0, 0, 0},
       243,
       75.2},
      {"t9-9",
       "eva-clip-18b",
       "internlm2-20b",
       kA100,
       {4, 4, 4},
       kFour200,
       {18, 19, 25, 34},
       {2, 2, 0, 0},
       63.6,
       33.8},
  };
}

Job JobOf(const Case& c) {
  Job job = VisionJob(c.encoder, c.language_model, c.gpu,
                      c.degrees.tensor * c.degrees.pipeline * c.degrees.data);
  job.dataset = OmniBalDataset();
  job.cluster.inter_node_bytes_per_second = c.network_bytes_per_second;
  job.training.global_batch_samples = 512;
  // Stated only for t9-2. EVA-CLIP takes its own number of tokens per tile.
  job.training.unit_cap = 9;
  job.training.token_cap = 4096;
  FixDegrees(job, c.degrees.tensor, c.degrees.pipeline, c.degrees.data);
  return job;
}

PlanSpec Published(const Case& c, int64_t encoder_layers) {
  PlanSpec spec{.parallelism = c.degrees};
  for (size_t s = 0; s < c.layers.size(); ++s) {
    int64_t layers = c.layers[s], recomputed = c.recomputed[s];
    ChunkSpec chunk;
    const auto take = [&](LayerKind kind, int64_t count) {
      if (count <= 0) return;
      LayerGroup group{.kind = kind, .count = count};
      const int64_t again = std::min(recomputed, count);
      if (again > 0) group.recomputed = {{.count = again}};
      recomputed -= again;
      chunk.layers.push_back(group);
    };
    const int64_t encoder = std::min(layers, encoder_layers);
    take(LayerKind::kEncoder, encoder);
    take(LayerKind::kDense, layers - encoder);
    encoder_layers -= encoder;
    spec.chunks.push_back(chunk);
  }
  return spec;
}

std::string LayersOf(const Plan& plan) {
  std::string text;
  for (const StagePlan& stage : plan.stages) {
    int64_t layers = 0, again = 0;
    for (const LayerGroup& g : stage.layers) {
      layers += IsTransformerLayer(g.kind) ? g.count : 0;
      again += g.recomputed_count();
    }
    text += (text.empty() ? "" : ",") + std::to_string(layers);
    if (again > 0) text += "(" + std::to_string(again) + ")";
  }
  return text;
}

Plan PlanOf(const Job& job) {
  PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete);
  EXPECT_TRUE(result.plan.fits());
  return result.plan;
}

TEST(OmniBalLadderTest, TableNine) {
  std::printf("%-5s %21s %21s   %s\n", "", "before: paper  here", "after: paper  here",
              "here: layers per stage (recomputed)");
  for (const Case& c : TableNine()) {
    const Job job = JobOf(c);
    const Plan plan = PlanOf(job);
    const Evaluation published =
        EvaluatePlan(job, Published(c, job.model.towers.front().encoder.layers));
    ASSERT_TRUE(published.faults.empty()) << published.faults.front().field;
    const int64_t short_bytes = published.plan.misfit ? published.plan.misfit->short_bytes : 0;
    std::printf("%-5s %14.1f %6.1f %14.1f %6.1f   %s; published split %.1f, %.1f GiB %s\n", c.name,
                c.before, plan.ladder.front().gpu_days, c.after, plan.prediction.gpu_days,
                LayersOf(plan).c_str(), published.plan.prediction.gpu_days,
                static_cast<double>(short_bytes) / (1 << 30),
                published.plan.fits() ? "fits" : "short");
    for (const LadderRung& rung : plan.ladder)
      std::printf("      %-18s %6.1f\n", rung.name.c_str(), rung.gpu_days);
    if (published.plan.fits()) {
      EXPECT_LE(plan.prediction.gpu_days, published.plan.prediction.gpu_days) << c.name;
    }
  }
}

// Each part's gain is as in the paper, within 15%, and the end within a quarter. Those runs reach
// 39% of the peak, while Megatron's published runs, on which the constants are fitted, reach more.
TEST(OmniBalLadderTest, EveryPartGainsAsPublished) {
  constexpr double kPublished[] = {61.8, 51.9, 29.0, 21.3};
  const std::vector<LadderRung> ladder = PlanOf(JobOf(TableNine()[1])).ladder;
  ASSERT_EQ(ladder.size(), 4u);
  for (size_t i = 1; i < 4; ++i) {
    const double here = ladder[i].gpu_days / ladder[i - 1].gpu_days;
    const double there = kPublished[i] / kPublished[i - 1];
    EXPECT_NEAR(here / there, 1, 0.15) << ladder[i].name;
  }
  EXPECT_NEAR(ladder[3].gpu_days / kPublished[3], 1, 0.25);
}

// The error that plans for models with encoders state is the error on these trainings.
TEST(OmniBalLadderTest, StatedErrorIsTheOneOnTheseTrainings) {
  std::vector<Case> cases = TableNine();
  Case on_h100 = cases[1];
  on_h100.gpu = "h100-sxm-80gb", on_h100.network_bytes_per_second = kEight400;
  on_h100.after = 12.2;
  cases.push_back(on_h100);
  double error = 0;
  for (const Case& c : cases) error += std::abs(PlanOf(JobOf(c)).prediction.gpu_days / c.after - 1);
  error /= static_cast<double>(cases.size());
  for (const GpuGeneration generation : {GpuGeneration::kAmpere, GpuGeneration::kHopper}) {
    const Uncertainty said = UncertaintyOf({.generation = generation}, true);
    EXPECT_NEAR(said.step_time, error, 0.005);
    EXPECT_EQ(said.source.find(std::to_string(cases.size()) + " published"), 0u);
  }
}

TEST(OmniBalLadderTest, OtherHardware) {
  std::vector<Case> cases(3, TableNine()[1]);
  cases[1].network_bytes_per_second = kTwo200, cases[1].before = 64.0, cases[1].after = 24.8;
  cases[2].gpu = "h100-sxm-80gb", cases[2].network_bytes_per_second = kEight400;
  cases[2].before = 32.5, cases[2].after = 12.2;
  for (const Case& c : cases) {
    const Plan plan = PlanOf(JobOf(c));
    std::printf("%s %4.1f GB/s: before %5.1f (paper %5.1f), after %5.1f (paper %5.1f)\n", c.gpu,
                c.network_bytes_per_second * 1e-9, plan.ladder.front().gpu_days, c.before,
                plan.prediction.gpu_days, c.after);
    EXPECT_NEAR(plan.prediction.gpu_days / c.after, 1, 0.45) << c.gpu;
  }
}

}  // namespace
}  // namespace evenkeel::planner
