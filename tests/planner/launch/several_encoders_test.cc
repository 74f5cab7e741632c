// The settings of each trainer for a model with two encoders.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/launch/megatron_recompute.h"
#include "planner/make_plan.h"
#include "planner/model/towers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// A second encoder, of 12 layers.
EncoderTower SecondTower(const Job& job) {
  EncoderTower tower = job.model.towers.front();
  tower.encoder.name = "second";
  tower.encoder.layers = 12;
  tower.encoder.llm_tokens_per_unit = 4 * tower.encoder.llm_tokens_per_unit;
  return tower;
}

Job TwoEncoders(std::vector<LaunchFramework> frameworks) {
  Job job = VisionJob("internvit-300m-448px", "llama3-8b", "h100-sxm-80gb", 8);
  job.model.towers.push_back(SecondTower(job));
  job.dataset = DefaultVisionLanguageDataset(LlmTokensPerUnit(job.model));
  job.launch.frameworks = std::move(frameworks);
  return job;
}

std::vector<Launch> LaunchOf(const Job& job) {
  const PlanResult result = MakePlan(job, {});
  EXPECT_EQ(result.end, PlanEnd::kComplete) << (result.faults.empty() ? "" : result.faults[0]);
  EXPECT_EQ(result.plan.launch.size(), job.launch.frameworks.size());
  return result.plan.launch;
}

bool Says(const Launch& launch, const std::string& text) {
  return std::any_of(launch.notes.begin(), launch.notes.end(), [&](const LaunchNote& note) {
    return note.text.find(text) != std::string::npos;
  });
}

TEST(SeveralEncodersTest, ATrainerWithSettingsForOneSaysSo) {
  Job job =
      TwoEncoders({LaunchFramework::kMegatron, LaunchFramework::kTorchtitan,
                   LaunchFramework::kFlagScale, LaunchFramework::kXTuner, LaunchFramework::kFsdp});
  for (const Launch& launch : LaunchOf(job)) {
    ASSERT_NE(launch.match, LaunchMatch::kNone);
    EXPECT_TRUE(Says(launch, "The model has 2 encoders (internvit-300m-448px+second): "))
        << static_cast<int>(launch.framework);
  }
  job.model.towers.pop_back();
  job.dataset = DefaultVisionLanguageDataset(LlmTokensPerUnit(job.model));
  for (const Launch& launch : LaunchOf(job)) EXPECT_FALSE(Says(launch, "2 encoders"));
}

TEST(SeveralEncodersTest, DeepSpeedsPipelineListsTheLayersOfBoth) {
  Job job = TwoEncoders({LaunchFramework::kDeepSpeed});
  FixDegrees(job, 1, 2, 4);
  const Launch launch = LaunchOf(job).front();
  ASSERT_FALSE(launch.files.empty());
  EXPECT_NE(launch.files.back().content.find(
                "patch embedding, 24 encoder layers, projector, patch embedding, 12 encoder "
                "layers, projector, token embedding, 32 language layers, head"),
            std::string::npos);
}

TEST(SeveralEncodersTest, MegatronTakesTheLongestAndNamesBoth) {
  const Launch launch = LaunchOf(TwoEncoders({LaunchFramework::kMegatron})).front();
  const auto at = std::find(launch.arguments.begin(), launch.arguments.end(), "--seq-length");
  ASSERT_LT(at + 1, launch.arguments.end());
  EXPECT_EQ(*(at + 1), "1024");
  EXPECT_TRUE(Says(launch, "(internvit-300m-448px, 24 layers; second, 12 layers)"));
}

TEST(SeveralEncodersTest, OneThatTrainsCanRecompute) {
  Job job = TwoEncoders({});
  EXPECT_TRUE(RecomputesEncoders(job.model));
  job.model.towers[0].encoder.train = TrainMode::kFrozen;
  EXPECT_TRUE(RecomputesEncoders(job.model));
  job.model.towers[1].encoder.train = TrainMode::kFrozen;
  EXPECT_FALSE(RecomputesEncoders(job.model));
  EXPECT_FALSE(RecomputesEncoders(ModelSpec{}));
}

}  // namespace
}  // namespace evenkeel::planner
