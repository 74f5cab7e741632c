// Frozen weights in 4 bits with adapters.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/cost/layer_profile.h"
#include "planner/make_plan.h"
#include "planner/packing/batch_rule.h"
#include "planner/trainer/trainers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Job LoraJob(FrozenFormat base, const char* trainer = "huggingface-trainer") {
  Job job = TextJob("llama3-8b", "a100-sxm-40gb", 8);
  job.model.language_model.train = TrainMode::kLora;
  job.model.language_model.lora.base = base;
  job.training.trainer = FindTrainer(trainer);
  job.training.zero_stage = job.training.trainer->zero_stage;
  job.training.execution = DefaultExecution(*job.training.trainer, job.training.zero_stage);
  job.training.token_cap = 4096;
  return job;
}

LayerProfile ProfileOf(const Job& job) {
  const Batching batching = MakeBatching(job);
  return BuildLayerProfile(job, {1, 1, job.cluster.gpu_count}, batching.mean, batching.largest);
}

const LayerCost& DecoderLayer(const LayerProfile& profile) {
  return *std::find_if(profile.classes.begin(), profile.classes.end(),
                       [](const LayerCost& layer) { return layer.kind == LayerKind::kDense; });
}

// 4 x 4096 x 4096 x (1 + 1/4 ...) of Llama 3: queries and output 4096 x 4096, keys and values 1024,
// three matrices of the MLP.
constexpr double kMatrices = 2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336;

TEST(PackedBaseTest, BytesPerWeight) {
  EXPECT_DOUBLE_EQ(8 * BytesOf(FrozenFormat::kNf4), 4.5);
  EXPECT_NEAR(8 * BytesOf(FrozenFormat::kNf4Double), 4.127, 5e-4);
  EXPECT_DOUBLE_EQ(8 * BytesOf(FrozenFormat::kInt8), 8);
}

TEST(PackedBaseTest, LinearLayersAreHeldInFewBitsAndNothingElse) {
  const LayerProfile wide = ProfileOf(LoraJob(FrozenFormat::k16Bit));
  for (const FrozenFormat format :
       {FrozenFormat::kNf4, FrozenFormat::kNf4Double, FrozenFormat::kInt8}) {
    const LayerProfile packed = ProfileOf(LoraJob(format));
    EXPECT_NEAR(
        static_cast<double>(DecoderLayer(wide).weight_bytes - DecoderLayer(packed).weight_bytes),
        kMatrices * (2 - BytesOf(format)), 2);
    EXPECT_EQ(DecoderLayer(wide).optimizer_bytes, DecoderLayer(packed).optimizer_bytes);
    EXPECT_EQ(DecoderLayer(wide).parameters, DecoderLayer(packed).parameters);
    for (const LayerKind kind : {LayerKind::kTokenEmbedding, LayerKind::kHead}) {
      for (size_t i = 0; i < wide.classes.size(); ++i) {
        if (wide.classes[i].kind == kind) {
          EXPECT_EQ(wide.classes[i].weight_bytes, packed.classes[i].weight_bytes);
        }
      }
    }
  }
}

TEST(PackedBaseTest, EachUseUnpacksTheWeights) {
  const LayerCost wide = DecoderLayer(ProfileOf(LoraJob(FrozenFormat::k16Bit)));
  const LayerCost packed = DecoderLayer(ProfileOf(LoraJob(FrozenFormat::kNf4)));
  const double bytes_per_ns = LoraJob(FrozenFormat::kNf4).cluster.gpu.hbm_bytes_per_second * 1e-9;
  const double at_peak = kMatrices * (2 + BytesOf(FrozenFormat::kNf4)) / bytes_per_ns;
  const double forward = static_cast<double>(packed.forward_ns - wide.forward_ns);
  const double backward = static_cast<double>(packed.backward_ns - wide.backward_ns);
  EXPECT_GT(forward, at_peak);
  EXPECT_LT(forward, 2 * at_peak);
  EXPECT_GT(backward, at_peak) << "the gradient of the input reads them again";
  EXPECT_LT(backward, 2 * at_peak);
  EXPECT_GT(packed.modes.back().repeated_ns - wide.modes.back().repeated_ns, at_peak)
      << "recompute is another use";
}

TEST(PackedBaseTest, PlansNeedLessMemory) {
  Job job = LoraJob(FrozenFormat::k16Bit);
  job.cluster = ClusterOf("rtx-4090-24gb", 1);
  job.constraints.recompute = RecomputePolicy::kFull;
  EXPECT_FALSE(MakePlan(job, {}).plan.fits());
  job.model.language_model.lora.base = FrozenFormat::kNf4Double;
  const PlanResult packed = MakePlan(job, {});
  EXPECT_EQ(packed.end, PlanEnd::kComplete);
  EXPECT_TRUE(packed.plan.fits()) << "8 B parameters in 24 GB";
}

TEST(PackedBaseTest, ShardedWeightsAreGatheredPacked) {
  const Job wide = LoraJob(FrozenFormat::k16Bit, "torchtune");
  const Job packed = LoraJob(FrozenFormat::kNf4Double, "torchtune");
  ASSERT_EQ(wide.training.zero_stage, ZeroStage::kWeights);
  const LayerCost a = DecoderLayer(ProfileOf(wide)), b = DecoderLayer(ProfileOf(packed));
  EXPECT_LT(b.weight_bytes, 0.3 * static_cast<double>(a.weight_bytes));
  EXPECT_LT(b.modes.back().workspace_bytes, a.modes.back().workspace_bytes);
}

TEST(PackedBaseTest, LaunchSettingsSayHowEightBitsAreLoaded) {
  Job job = LoraJob(FrozenFormat::kInt8);
  job.launch.frameworks = {LaunchFramework::kDeepSpeed};
  const Plan plan = MakePlan(job, {}).plan;
  ASSERT_EQ(plan.launch.size(), 1u);
  EXPECT_NE(plan.launch[0].notes[0].text.find("load_in_8bit=True)"), std::string::npos);
}

TEST(PackedBaseTest, LaunchSettingsSayHowOrThatTheyCannot) {
  Job job = LoraJob(FrozenFormat::kNf4);
  job.launch.frameworks = {LaunchFramework::kMegatron, LaunchFramework::kDeepSpeed};
  const Plan plan = MakePlan(job, {}).plan;
  ASSERT_EQ(plan.launch.size(), 2u);
  EXPECT_EQ(plan.launch[0].match, LaunchMatch::kNone);
  EXPECT_NE(plan.launch[0].notes[0].text.find("4 bits"), std::string::npos);
  EXPECT_NE(plan.launch[1].match, LaunchMatch::kNone);
  EXPECT_NE(plan.launch[1].notes[0].text.find("load_in_4bit"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::planner
