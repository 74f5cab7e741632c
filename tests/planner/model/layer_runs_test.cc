#include "planner/model/layer_runs.h"

#include <gtest/gtest.h>

#include "planner/catalog/catalog.h"
#include "planner/check/plan_checker.h"
#include "planner/cost/layer_profile.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "planner/model/parameters.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr LanguageLayer kWindow512{.attention = AttentionKind::kWindow, .window_tokens = 512};

// Five layers with a window, then one without, and so on.
LanguageModel Windowed(LanguageModel model) {
  for (int64_t left = model.layers; left > 0;) {
    const int64_t windows = std::min<int64_t>(5, left);
    model.runs.push_back({kWindow512, windows});
    left -= windows;
    if (left == 0) break;
    model.runs.push_back({{}, 1});
    --left;
  }
  return model;
}

TEST(LayerRunsTest, UnsetRunsAreDenseLayersAndThenExperts) {
  const LanguageModel dense = FindLanguageModel("llama3-8b")->spec;
  ASSERT_EQ(RunsOf(dense).size(), 1u);
  EXPECT_EQ(RunsOf(dense).front().count, 32);
  EXPECT_EQ(RunsOf(dense).front().layer.kv_heads, 8);
  EXPECT_EQ(CountLayers(dense, LayerKind::kMoe), 0);
  const LanguageModel experts = FindLanguageModel("deepseek-v3")->spec;
  ASSERT_EQ(RunsOf(experts).size(), 2u);
  EXPECT_EQ(CountLayers(experts, LayerKind::kDense), 3);
  EXPECT_EQ(CountLayers(experts, LayerKind::kMoe), 58);
  EXPECT_EQ(ClassesOf(experts).size(), 2u);
}

TEST(LayerRunsTest, EqualNeighboursAreOneRun) {
  LanguageModel model = FindLanguageModel("llama3-8b")->spec;
  model.runs = {{{}, 10}, {{.heads = model.heads}, 22}};
  EXPECT_EQ(RunsOf(model).size(), 1u);
  EXPECT_EQ(CountParameters(model), CountParameters(FindLanguageModel("llama3-8b")->spec));
}

TEST(LayerRunsTest, ParametersFollowTheRuns) {
  LanguageModel model = FindLanguageModel("llama3-8b")->spec;
  const int64_t all = CountParameters(model);
  model.runs = {{{.ffn = model.ffn / 2}, 1}, {{}, model.layers - 1}};
  EXPECT_EQ(all - CountParameters(model), 3 * model.hidden * model.ffn / 2);
  model.runs = {{{.kv_heads = 4}, 1}, {{}, model.layers - 1}};
  EXPECT_EQ(all - CountParameters(model), 2 * model.hidden * 4 * model.head_dim);
}

// All samples have 4096 tokens, so a window of 512 leaves 512 (2 x 4096 - 512) of their squares.
TEST(LayerRunsTest, WindowsCutTheWorkOfAttention) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.dataset.bins = {{0, 4096, 1000}};
  const PackShape pack{0, 4096, 4096.0 * 4096};
  const Parallelism p{1, 1, 8};
  const auto dense = [&](const LanguageModel& model) {
    job.model.language_model = model;
    const LayerProfile profile = BuildLayerProfile(job, p, pack, pack);
    EXPECT_EQ(profile.transformer_layers, model.layers);
    return profile.at(1);  // after the embedding
  };
  const LanguageModel model = FindLanguageModel("llama3-8b")->spec;
  const LayerCost full = dense(model), window = dense(Windowed(model));
  EXPECT_EQ(full.parameters, window.parameters);
  const double width = static_cast<double>(model.heads * 2 * model.head_dim);
  EXPECT_NEAR(full.forward_flops.at(pack) - window.forward_flops.at(pack),
              width * (4096.0 * 4096 - 512.0 * (2 * 4096 - 512)), 1e6);
  EXPECT_LT(window.forward_ns, full.forward_ns);
}

TEST(LayerRunsTest, ShortSamplesSeeNoWindow) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.dataset.bins = {{0, 100, 1000}, {0, 400, 1000}};
  job.model.language_model = Windowed(job.model.language_model);
  const PackShape pack{0, 4096, 4096.0 * 340};
  const LayerProfile profile = BuildLayerProfile(job, {1, 1, 8}, pack, pack);
  EXPECT_DOUBLE_EQ(profile.at(1).forward_flops.at(pack), profile.at(6).forward_flops.at(pack));
}

TEST(LayerRunsTest, PlansOfMixedChainsAreCheckedAndEvaluateToThemselves) {
  for (const RecomputePolicy policy : {RecomputePolicy::kAuto, RecomputePolicy::kOneSetting}) {
    Job job = TextJob("llama3-70b", "h100-sxm-80gb", 32);
    job.model.language_model = Windowed(job.model.language_model);
    job.model.language_model.layers -= 13;  // 80 are not divided by what memory allows
    job.model.language_model.runs.clear();
    job.model.language_model = Windowed(job.model.language_model);
    job.constraints.recompute = policy;
    job.constraints.tensor_parallel = {4, 4};
    job.constraints.pipeline_parallel = {4, 8};
    const PlanResult result = MakePlan(job, {});
    ASSERT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
    ASSERT_TRUE(result.plan.fits());
    job.training.token_cap = result.plan.batch_rule.token_cap;  // the plan chose it
    const Evaluation again = EvaluatePlan(job, SpecOf(result.plan));
    ASSERT_TRUE(again.faults.empty()) << again.faults.front().message;
    EXPECT_EQ(again.plan.prediction.step.total_ns, result.plan.prediction.step.total_ns);
    for (size_t s = 0; s < result.plan.stages.size(); ++s)
      EXPECT_EQ(again.plan.stages[s].memory.total(), result.plan.stages[s].memory.total()) << s;
  }
}

}  // namespace
}  // namespace evenkeel::planner
