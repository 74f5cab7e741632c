// Decoders whose layers attend to the output of an encoder, conformers, and projectors of steps.
#include <gtest/gtest.h>

#include "planner/cost/layer_profile.h"
#include "planner/make_plan.h"
#include "planner/model/parameters.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kHidden = 512, kHeard = 300, kTokens = 128, kLayers = 4;
constexpr PackShape kCrossPack{
    .units = 8.0, .tokens = 8.0 * kTokens, .squared = 8.0 * kTokens * kTokens};

Job Hearing() {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.model.language_model = {.name = "decoder",
                              .layers = kLayers,
                              .hidden = kHidden,
                              .heads = 8,
                              .kv_heads = 8,
                              .head_dim = 64,
                              .ffn = 2048,
                              .norm = Norm::kLayerNorm,
                              .vocab = 5000,
                              .tied_embeddings = true,
                              .qkv_bias = true,
                              .learned_positions = 448,
                              .runs = {{{.cross = true}, kLayers}},
                              .out_bias = true,
                              .mlp_bias = true,
                              .key_bias = false,
                              .cross = CrossSpec{.width = kHidden, .tokens_per_unit = kHeard}};
  Encoder encoder{.name = "encoder",
                  .modality = Modality::kAudio,
                  .layers = 3,
                  .hidden = kHidden,
                  .heads = 8,
                  .head_dim = 64,
                  .ffn = 2048,
                  .class_tokens = 0,
                  .tokens_per_unit = kHeard,
                  .llm_tokens_per_unit = 0,
                  .key_bias = false};
  Projector norm{.steps = {{.rows = kHeard, .in = kHidden, .norm_width = kHidden}}};
  job.model.towers = {{encoder, norm}};
  job.dataset.bins = {{.units = 1, .llm_tokens = kTokens, .count = 10'000}};
  job.training.trainer = FindTrainer("unlimited");
  job.constraints.encoder_data = {1, 1};
  return job;
}

// The first layer of the decoder: after patches, 3 encoder layers, projector and embedding.
const LayerCost& FirstOf(const LayerProfile& profile) { return profile.at(1 + 3 + 1 + 1); }

int64_t SumOfParameters(const LayerProfile& profile) {
  int64_t sum = 0;
  for (int64_t i = 0; i < profile.size(); ++i) sum += profile.at(i).parameters;
  return sum;
}

TEST(CrossAttentionTest, OperationsHoldTheParametersOfTheModel) {
  const Job job = Hearing();
  EXPECT_EQ(SumOfParameters(BuildLayerProfile(job, {}, kCrossPack, kCrossPack)),
            CountParameters(job.model));
}

// As in Llama 3.2 Vision: layers without attention to their own tokens, with norms of heads and
// gates, and an embedding with more rows than the head.
Job Seeing() {
  Job job = Hearing();
  LanguageModel& m = job.model.language_model;
  m.runs = {{{}, kLayers - 1}, {{.mixer = Mixer::kNone, .cross = true}, 1}};
  m.cross->head_norm = true;
  m.cross->other_parameters = 2;
  m.more_rows = 8;
  return job;
}

TEST(CrossAttentionTest, ReplacesAttentionInItsLayers) {
  const Job job = Seeing();
  const LayerProfile profile = BuildLayerProfile(job, {}, kCrossPack, kCrossPack);
  EXPECT_EQ(SumOfParameters(profile), CountParameters(job.model));
  // The layer is one with attention and that to the encoder, without the former.
  Job both = Seeing();
  both.model.language_model.runs = {{{.cross = true}, 1}, {{}, kLayers - 1}};
  const LayerProfile other = BuildLayerProfile(both, {}, kCrossPack, kCrossPack);
  const auto flops = [](const LayerProfile& of, int64_t layer) {
    return of.at(1 + 3 + 1 + 1 + layer).forward_flops.at(kCrossPack);
  };
  const double attention = flops(other, 0) - flops(profile, kLayers - 1);
  const double h = kHidden, tokens = kCrossPack.tokens;
  EXPECT_GT(attention, 4 * 2 * h * h * tokens);  // its products, and pairs of tokens
  EXPECT_LT(attention, 4 * 2 * h * h * tokens + 4 * h * kCrossPack.squared);
}

TEST(CrossAttentionTest, NormsOfEmbeddingsAndScalarsOfActivationsAreHeld) {
  Job job = Hearing();
  job.model.language_model.embedding_norm = true;
  job.model.language_model.mlp_scalars = 2;
  EXPECT_EQ(CountParameters(job.model) - CountParameters(Hearing().model),
            2 * kHidden + 2 * kLayers);
  EXPECT_EQ(SumOfParameters(BuildLayerProfile(job, {}, kCrossPack, kCrossPack)),
            CountParameters(job.model));
}

TEST(CrossAttentionTest, WorkIsThatOfItsProducts) {
  Job job = Hearing();
  const double with =
      FirstOf(BuildLayerProfile(job, {}, kCrossPack, kCrossPack)).forward_flops.at(kCrossPack);
  job.model.language_model.runs = {};
  const double without =
      FirstOf(BuildLayerProfile(job, {}, kCrossPack, kCrossPack)).forward_flops.at(kCrossPack);
  const double h = kHidden, tokens = kCrossPack.tokens, heard = kCrossPack.units[0] * kHeard;
  const double expected = 2 * h * h * 2 * tokens   // queries and output
                          + 2 * h * 2 * h * heard  // keys and values
                          + 4 * h * kHeard * tokens;
  EXPECT_NEAR(with - without, expected, 1e-9 * with);
}

TEST(CrossAttentionTest, AFrozenEncoderTakesNoGradient) {
  const Job job = Hearing();
  Job frozen = job;
  frozen.model.towers[0].encoder.train = TrainMode::kFrozen;
  frozen.model.towers[0].projector.train = TrainMode::kFrozen;
  // The second layer: one before it trains in either case.
  const LayerProfile all = BuildLayerProfile(job, {}, kCrossPack, kCrossPack);
  const LayerProfile some = BuildLayerProfile(frozen, {}, kCrossPack, kCrossPack);
  EXPECT_LT(some.at(7).backward.at(kCrossPack), all.at(7).backward.at(kCrossPack));
  EXPECT_EQ(some.at(7).forward.at(kCrossPack), all.at(7).forward.at(kCrossPack));
  EXPECT_FALSE(some.at(1).has_backward);
}

TEST(CrossAttentionTest, WhatTheEncoderGivesPassesEveryCut) {
  Job job = Hearing();
  const LayerProfile profile = BuildLayerProfile(job, {.pipeline = 2}, kCrossPack, kCrossPack);
  const auto heard = static_cast<int64_t>(2 * kCrossPack.units[0] * kHeard * kHidden);
  const auto rows = static_cast<int64_t>(2 * kCrossPack.tokens * kHidden);
  EXPECT_EQ(FirstOf(profile).output_bytes, heard + rows);
  EXPECT_EQ(profile.at(5).output_bytes, heard + rows);  // the embedding's
  job.model.language_model.runs = {};
  job.model.language_model.cross.reset();
  EXPECT_EQ(FirstOf(BuildLayerProfile(job, {.pipeline = 2}, kCrossPack, kCrossPack)).output_bytes,
            rows);
}

// One stage keeps one copy for its 4 layers, two keep two.
TEST(CrossAttentionTest, AStageKeepsOneCopyWhateverIsRecomputed) {
  const Job job = Hearing();
  const auto kept = [&](int64_t stages) {
    return FirstOf(BuildLayerProfile(job, {.pipeline = stages}, kCrossPack, kCrossPack))
        .modes.back()
        .kept_bytes;
  };
  const double copy = 2 * kCrossPack.units[0] * kHeard * kHidden;
  EXPECT_EQ(kept(2) - kept(1), static_cast<int64_t>(copy / 4));
  EXPECT_EQ(kept(1), static_cast<int64_t>(2 * kCrossPack.tokens * kHidden + copy / 4));
}

TEST(CrossAttentionTest, PlansAreFoundAndHoldUp) {
  for (const int64_t pipeline : {1, 2, 4}) {
    Job job = Hearing();
    job.constraints.pipeline_parallel = {pipeline, pipeline};
    const PlanResult result = MakePlan(job, {});  // which checks what it finds
    ASSERT_EQ(result.end, PlanEnd::kComplete) << pipeline;
    EXPECT_TRUE(result.faults.empty());
  }
}

TEST(CrossAttentionTest, ConformersAndStepsHoldTheirParameters) {
  Job job = Hearing();
  job.model.language_model.runs = {};
  job.model.language_model.cross.reset();
  Encoder& e = job.model.towers[0].encoder;
  e.norm = Norm::kRmsNorm, e.linear_bias = e.qkv_bias = false, e.key_bias = true;
  e.layer_norms = 9, e.native_resolution = true, e.tokens_per_unit = e.llm_tokens_per_unit = 1;
  e.window_tokens = 24;
  e.front = {.mel_bins = 64, .channels = 64, .second_channels = 48};
  e.conformer = {.conv_width = 5, .other_parameters = kHidden * kHidden + 64};
  job.model.towers[0].projector.steps = {
      {.rows = 4, .in = kHidden, .out = 1024, .gated = true, .split = Split::kOutputs},
      {.rows = 4, .in = 1024, .out = kHidden, .bias = false, .split = Split::kInputs}};
  const PackShape pack{.units = 100.0, .tokens = 2000, .squared = 4e6};
  EXPECT_EQ(SumOfParameters(BuildLayerProfile(job, {}, pack, pack)), CountParameters(job.model));
  job.model.towers[0].projector.resampler = {.layers = 2,
                                             .latents = 1,
                                             .context = 1,
                                             .width = kHidden,
                                             .ffn = 2048,
                                             .heads = 6,
                                             .kv_heads = 2,
                                             .head_dim = 48};
  EXPECT_EQ(SumOfParameters(BuildLayerProfile(job, {}, pack, pack)), CountParameters(job.model));
}

// Packs of any number of equal samples are level, so only time tells how many are best.
TEST(CrossAttentionTest, PacksHoldSeveralRecordingsUnasked) {
  Job job = Hearing();
  job.dataset.bins = {{1, 100, 30000}, {1, 200, 30000}};
  const Plan plan = MakePlan(job, {}).plan;
  ASSERT_TRUE(plan.fits());
  EXPECT_GT(plan.batch_rule.samples_per_pack, 3);
  EXPECT_LE(plan.prediction.samples_per_step, 2 * job.training.global_batch_samples);
  job.training.unit_cap = 1;
  const Plan alone = MakePlan(job, {}).plan;
  EXPECT_EQ(alone.batch_rule.samples_per_pack, 1) << "a given cap is kept";
  EXPECT_LT(plan.prediction.gpu_days, alone.prediction.gpu_days);
}

}  // namespace
}  // namespace evenkeel::planner
