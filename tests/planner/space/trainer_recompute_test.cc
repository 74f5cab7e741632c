#include "planner/space/trainer_recompute.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

using Parts =
    std::pair<RecomputeParts, RecomputeParts>;  // parts of dense layers, and of layers with experts

std::set<Parts> PartsOf(const Job& job) {
  std::set<Parts> parts;
  for (const RecomputeSetting& setting : SelectiveSettings(job)) {
    EXPECT_EQ(setting.block, 0);
    EXPECT_FALSE(setting.encoder);
    EXPECT_TRUE(parts.insert({setting.dense_parts, setting.moe_parts}).second);
  }
  return parts;
}

TEST(RecomputeSettingsTest, SetsOfModulesOfADenseModel) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  EXPECT_EQ(PartsOf(job), (std::set<Parts>{{kNorms, 0}, {kMlp, 0}, {kNorms | kMlp, 0}}));
  job.training.execution.attention = AttentionKernel::kUnfused;
  EXPECT_EQ(PartsOf(job).size(), 7U);
  EXPECT_TRUE(PartsOf(job).contains({kCoreAttention, 0}));
}

TEST(RecomputeSettingsTest, DenseLayersOfAModelWithExpertsHaveTheirOwn) {
  const Job job = TextJob("deepseek-v2", "h100-sxm-80gb", 64);
  ASSERT_GT(job.model.language_model.moe->first_dense_layers, 0);
  const std::set<Parts> parts = PartsOf(job);
  EXPECT_TRUE(parts.contains({kMlp, 0}));
  EXPECT_TRUE(parts.contains({0, kMlp}));
  EXPECT_TRUE(parts.contains({kLatentProjection, kLatentProjection}));
  for (const auto& [dense, moe] : parts) EXPECT_NE(moe & (kMlp | kActivation), kMlp | kActivation);
  // Norms, latents and the dense MLP are each recomputed or not. For experts, nothing, everything
  // or the activation is recomputed.
  const size_t of_experts = job.training.execution.grouped_experts ? 3 : 2;
  EXPECT_EQ(parts.size(), 8 * of_experts - 1);
}

TEST(RecomputeSettingsTest, WholeLayersLeaveNoSets) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.training.trainer = FindTrainer("nanotron");
  EXPECT_TRUE(SelectiveSettings(job).empty());
}

TEST(RecomputeSettingsTest, TheFreestThatTrainersCanExpress) {
  for (const Trainer& trainer : Trainers()) {
    if (!trainer.pipeline && trainer.selective_recompute) continue;
    EXPECT_EQ(FreestRecompute(trainer) == RecomputePolicy::kAuto,
              trainer.name == "unlimited" || trainer.name == "torchtitan")
        << trainer.name;
  }
}

}  // namespace
}  // namespace evenkeel::planner
