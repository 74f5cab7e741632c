// Layers with a recurrent mixer, with only a mixer or only an MLP, and the projectors of encoders.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/model/parameters.h"
#include "planner/space/tensor_parallel.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kScanPack{.units = 1024, .tokens = 4096, .squared = 4096.0 * 4096};
constexpr LanguageLayer kRecurrent{.mixer = Mixer::kRecurrent};

constexpr ScanKind kScans[] = {ScanKind::kSelective, ScanKind::kStates, ScanKind::kGatedDelta,
                               ScanKind::kConvolution};

RecurrentSpec Spec(ScanKind scan) {
  if (scan == ScanKind::kConvolution)
    return {.scan = scan,
            .key_heads = 1,
            .value_heads = 1024,
            .value_dim = 1,
            .conv_width = 3,
            .conv_bias = true,
            .linear_bias = true,
            .norm = false};
  if (scan == ScanKind::kSelective)
    return {.scan = scan,
            .key_heads = 1,
            .key_dim = 16,
            .value_heads = 2048,
            .value_dim = 1,
            .conv_width = 4,
            .conv_bias = true,
            .step_rank = 64};
  return {.scan = scan,
          .key_heads = 8,
          .key_dim = 128,
          .value_heads = 32,
          .value_dim = 64,
          .conv_width = 4,
          .conv_bias = scan == ScanKind::kStates,
          .linear_bias = scan == ScanKind::kStates};
}

Job JobOf(std::vector<LayerRun> runs, ScanKind scan) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  LanguageModel& m = job.model.language_model;
  m = {
      .name = "hybrid",
      .layers = 0,
      .hidden = 1024,
      .heads = 16,
      .kv_heads = 4,
      .head_dim = 64,
      .ffn = 3072,
      .gated_mlp = true,
      .vocab = 32000,
      .moe = MoeSpec{.experts = 8, .top_k = 2, .expert_ffn = 512, .shared_ffn = 256, .latent = 384},
      .runs = std::move(runs),
      .attention_gate = true,
      .recurrent = Spec(scan)};
  for (const LayerRun& run : m.runs) m.layers += run.count;
  return job;
}

std::vector<LayerRun> EveryLayer() {
  LanguageLayer alone = kRecurrent, experts = kRecurrent;
  alone.mlp = false;
  experts.experts = true;
  return {{kRecurrent, 3},
          {{}, 1},
          {experts, 2},
          {alone, 2},
          {{.mixer = Mixer::kNone}, 1},
          {{.mixer = Mixer::kNone, .experts = true}, 1}};
}

int64_t ScanParameters(const LayerProfile& profile) {
  int64_t sum = 0;
  for (int64_t i = 0; i < profile.size(); ++i) sum += profile.at(i).parameters;
  return sum;
}

const LayerCost& ScanLayerAt(const LayerProfile& profile, int64_t layer) {
  return profile.at(layer + 1);  // after the embedding
}

TEST(RecurrentTest, OperationsHoldTheParametersOfTheModel) {
  for (const ScanKind scan : kScans) {
    const Job job = JobOf(EveryLayer(), scan);
    EXPECT_EQ(ScanParameters(BuildLayerProfile(job, {}, kScanPack, kScanPack)),
              CountParameters(job.model))
        << static_cast<int>(scan);
  }
}

// Twice as many tokens in samples of any length take twice the time, where attention takes more.
TEST(RecurrentTest, TimeGrowsWithTokensAlone) {
  const PackShape alike{.tokens = 4096, .squared = 4096.0 * 64};
  for (const ScanKind scan : kScans) {
    const Job job = JobOf(EveryLayer(), scan);
    const LayerProfile profile = BuildLayerProfile(job, {}, kScanPack, kScanPack);
    const LayerCost &mixer = ScanLayerAt(profile, 0), &attention = ScanLayerAt(profile, 3);
    EXPECT_EQ(mixer.forward.at(kScanPack), mixer.forward.at(alike));
    EXPECT_GT(attention.forward.at(kScanPack), attention.forward.at(alike));
    EXPECT_GT(mixer.backward.at(kScanPack), mixer.forward.at(kScanPack));
  }
}

TEST(RecurrentTest, AMixerAndAnMlpAloneAreTheWholeLayer) {
  LanguageLayer alone = kRecurrent;
  alone.mlp = false;
  const Job job =
      JobOf({{kRecurrent, 1}, {alone, 1}, {{.mixer = Mixer::kNone}, 1}}, ScanKind::kStates);
  const LayerProfile profile = BuildLayerProfile(job, {}, kScanPack, kScanPack);
  const double whole = ScanLayerAt(profile, 0).forward_flops.at(kScanPack);
  EXPECT_NEAR(ScanLayerAt(profile, 1).forward_flops.at(kScanPack) +
                  ScanLayerAt(profile, 2).forward_flops.at(kScanPack),
              whole, 1e-9 * whole);
}

// The formula of the chunked scan, by hand: docs/COST_MODEL.md, section 1.3.
TEST(RecurrentTest, FlopsOfAScan) {
  LanguageLayer layer = kRecurrent;
  layer.mlp = false;
  const Job alone = JobOf({{layer, 1}}, ScanKind::kGatedDelta);
  const double keys = 8 * 128, values = 32 * 64, hidden = 1024;
  const double inputs = 2 * (keys + values) + 2 * 32;
  const double scan = 32 * (2 * 64 * (3 * 128 + 2 * 64) + 6 * 128 * 64);
  const double expected = 2 * hidden * inputs + scan + 2 * values * hidden;
  const LayerProfile profile = BuildLayerProfile(alone, {}, kScanPack, kScanPack);
  EXPECT_NEAR(ScanLayerAt(profile, 0).forward_flops.at(kScanPack), 4096 * expected,
              1e-6 * 4096 * expected);
}

TEST(RecurrentTest, TensorRanksShareWhatAMixerKeeps) {
  for (const ScanKind scan : kScans) {
    const Job job = JobOf({{kRecurrent, 2}}, scan);
    const auto kept = [&](int64_t tensor) {
      const LayerProfile profile = BuildLayerProfile(job, {.tensor = tensor}, kScanPack, kScanPack);
      return static_cast<double>(ScanLayerAt(profile, 0).modes.front().kept_bytes);
    };
    EXPECT_NEAR(kept(8) / kept(1), 1.0 / 8, 0.01) << static_cast<int>(scan);
  }
}

TEST(RecurrentTest, HeadsBoundTheDegrees) {
  Job job = JobOf(EveryLayer(), ScanKind::kGatedDelta);
  EXPECT_TRUE(TensorParallelAllowed(job.model, 16));
  job.model.language_model.recurrent->value_heads = 24;
  EXPECT_TRUE(TensorParallelAllowed(job.model, 8));
  EXPECT_FALSE(TensorParallelAllowed(job.model, 16));  // though attention has 16 heads
  const ContextRules ring{.kind = ContextKind::kRing};
  EXPECT_EQ(ContextFaultOf(job.model, 4, 2, ring), ContextFault::kNone);
  EXPECT_EQ(ContextFaultOf(job.model, 8, 2, ring), ContextFault::kRecurrentHeads);
  EXPECT_EQ(ContextFaultOf(job.model, 8, 4, {}), ContextFault::kRecurrentHeads);
}

// The index scores all earlier tokens; attention sees the best 512 of them.
TEST(RecurrentTest, AnIndexLeavesAttentionFewTokens) {
  Job job = JobOf({{{}, 1}, {{.attention = AttentionKind::kIndexed, .window_tokens = 512}, 1}},
                  ScanKind::kStates);
  LanguageModel& m = job.model.language_model;
  m.attention_gate = false;
  m.mla = MlaSpec{.q_lora_rank = 256,
                  .kv_lora_rank = 128,
                  .qk_nope_dim = 64,
                  .qk_rope_dim = 32,
                  .v_dim = 64,
                  .index_heads = 4,
                  .index_dim = 64};
  job.dataset.bins = {{.llm_tokens = 4096, .count = 10}};
  const LayerProfile profile = BuildLayerProfile(job, {}, kScanPack, kScanPack);
  EXPECT_EQ(ScanParameters(profile), CountParameters(job.model));
  const double saved = ScanLayerAt(profile, 0).forward_flops.at(kScanPack) -
                       ScanLayerAt(profile, 1).forward_flops.at(kScanPack);
  const double squares = 4096.0 * 4096 - 512.0 * (2 * 4096 - 512);
  EXPECT_NEAR(saved, squares * 16 * (64 + 32 + 64), 1e-6 * saved);
}

Job WithTower(const Encoder& encoder, const Projector& projector) {
  Job job = JobOf({{{}, 2}}, ScanKind::kStates);
  job.model.towers = {{encoder, projector}};
  job.dataset.bins = {{.units = 256, .llm_tokens = 400, .count = 10},
                      {.units = 1024, .llm_tokens = 1200, .count = 5}};
  return job;
}

constexpr int64_t kWidth = 256;
Encoder NativeEncoder() {
  return {.name = "native",
          .layers = 4,
          .hidden = kWidth,
          .heads = 4,
          .head_dim = 64,
          .ffn = 512,
          .class_tokens = 0,
          .learned_positions = false,
          .tokens_per_unit = 4,
          .llm_tokens_per_unit = 1,
          .native_resolution = true};
}

TEST(EncoderShapesTest, OperationsHoldTheParametersOfEveryProjector) {
  Encoder encoder = NativeEncoder();
  encoder.other_parameters = 12345;
  const Projector kinds[] = {
      {.input_width = 4 * kWidth, .hidden_width = 4 * kWidth, .norm = true, .norm_width = kWidth},
      {.input_width = 4 * kWidth, .hidden_width = 0, .bias = false},
      {.input_width = kWidth, .norm = true, .norm_kind = Norm::kRmsNorm, .bias = false},
      {.input_width = 4 * kWidth, .hidden_width = 1024, .merging_width = kWidth},
      {.input_width = 4 * kWidth, .hidden_width = 4 * kWidth, .norm = true, .deep_stacked = 3}};
  for (const Projector& projector : kinds) {
    const Job job = WithTower(encoder, projector);
    EXPECT_EQ(ScanParameters(BuildLayerProfile(job, {}, kScanPack, kScanPack)),
              CountParameters(job.model))
        << &projector - kinds;
  }
}

// All units of a sample are one image: over the dataset, tokens x image is the sum of squares.
TEST(EncoderShapesTest, AttentionCoversTheImageOrAWindow) {
  Encoder encoder = NativeEncoder();
  const Projector projector{.input_width = 4 * kWidth, .hidden_width = 4 * kWidth};
  const Job whole = WithTower(encoder, projector);
  encoder.window_tokens = 64;
  encoder.full_layers = {1, 3};
  const Job windows = WithTower(encoder, projector);
  const auto flops = [](const Job& job, int64_t layer) {
    return BuildLayerProfile(job, {}, kScanPack, kScanPack)
        .at(layer + 1)
        .forward_flops.at(kScanPack);
  };
  EXPECT_EQ(flops(windows, 1), flops(whole, 1));
  EXPECT_EQ(flops(windows, 3), flops(whole, 0));
  EXPECT_LT(flops(windows, 0), flops(whole, 0));
  EXPECT_EQ(flops(windows, 2), flops(windows, 0));
  // Patches of the pack x the patches that each sees x two products of two FLOPs.
  const double patches = 1024.0 * 4;
  const double image = 4 * (10 * 256.0 * 256 + 5 * 1024.0 * 1024) / (10 * 256 + 5 * 1024);
  const double seen = std::round(image) - 64;
  EXPECT_NEAR(flops(whole, 0) - flops(windows, 0), patches * seen * 4 * kWidth,
              1e-6 * flops(whole, 0));
}

}  // namespace
}  // namespace evenkeel::planner
