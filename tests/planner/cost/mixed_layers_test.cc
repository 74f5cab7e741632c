// Layers that differ in more than windows and experts: heads of their own, shared keys and values,
// compressed tokens, several residual streams, a second embedding.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "planner/cost/kernel_time.h"
#include "planner/cost/layer_profile.h"
#include "planner/model/layer_runs.h"
#include "planner/model/parameters.h"
#include "planner/space/tensor_parallel.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kMixedPack{.tokens = 4096, .squared = 4096.0 * 4096};
constexpr LanguageLayer kWindow128{.attention = AttentionKind::kWindow, .window_tokens = 128};

Job JobOf(std::vector<LayerRun> runs) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  LanguageModel& m = job.model.language_model;
  m = {.name = "mixed",
       .layers = 0,
       .hidden = 1024,
       .heads = 16,
       .kv_heads = 4,
       .head_dim = 64,
       .ffn = 3072,
       .gated_mlp = true,
       .vocab = 32000,
       .qk_norm = true,
       .runs = std::move(runs)};
  for (const LayerRun& run : m.runs) m.layers += run.count;
  job.dataset.bins = {{.llm_tokens = 4096, .count = 10}};
  return job;
}

Job Compressed() {
  LanguageLayer few = kWindow128, many = kWindow128;
  few.entry_tokens = 4, few.entries = 256;
  many.entry_tokens = 128;
  Job job = JobOf({{kWindow128, 1}, {few, 2}, {many, 2}});
  LanguageModel& m = job.model.language_model;
  m.qk_norm = false;
  m.kv_heads = 1;
  m.attention_sinks = true;
  m.streams = 4;
  m.compressed = CompressedSpec{
      .q_rank = 192, .out_groups = 4, .out_rank = 96, .index_heads = 6, .index_dim = 32};
  return job;
}

Job Gemma() {
  LanguageLayer full{.kv_heads = 2, .head_dim = 128, .key_values = KeyValues::kOneProjection};
  LanguageLayer reuses = kWindow128;
  reuses.key_values = KeyValues::kReused;
  reuses.ffn = 6144;
  Job job = JobOf({{kWindow128, 3}, {full, 1}, {reuses, 2}});
  job.model.language_model.layer_norms = 5;
  job.model.language_model.per_layer = PerLayerSpec{.vocab = 8192, .width = 32};
  return job;
}

Job GemmaExperts() {
  LanguageLayer layer = kWindow128;
  layer.experts = true;
  Job job = JobOf({{layer, 2}});
  job.model.language_model.layer_norms = 7;
  job.model.language_model.moe = MoeSpec{
      .experts = 8, .top_k = 2, .expert_ffn = 256, .shared_ffn = 3072, .router_scales = true};
  return job;
}

Job MixedHeads() {
  LanguageLayer window = kWindow128;
  window.kv_heads = 8, window.head_dim = 96, window.value_dim = 48, window.sinks = true;
  LanguageLayer full{.head_dim = 96, .value_dim = 48};
  Job job = JobOf({{window, 2}, {full, 1}});
  job.model.language_model.qk_norm = false;
  return job;
}

Job Indexed() {
  LanguageLayer blocks{.attention = AttentionKind::kIndexed, .window_tokens = 1024};
  Job job = JobOf({{{}, 1}, {blocks, 2}});
  job.model.language_model.index = IndexSpec{.heads = 2, .head_dim = 64};
  return job;
}

Job Recurrent(ScanKind scan, Mixer mixer) {
  Job job = JobOf({{{.mixer = mixer}, 2}, {{}, 1}});
  job.model.language_model.recurrent =
      RecurrentSpec{.scan = scan,
                    .key_heads = scan == ScanKind::kStates ? 2 : 8,
                    .key_dim = 96,
                    .value_heads = 8,
                    .value_dim = 96,
                    .conv_width = 4,
                    .gate_rank = scan == ScanKind::kChannelDelta ? 96 : 0,
                    .norm = scan != ScanKind::kStates};
  return job;
}

Job Gemma3n() {
  Job job = Gemma();
  LanguageModel& m = job.model.language_model;
  m.streams = 3, m.stream_kind = StreamKind::kAltUp;
  m.laurel_rank = 48;
  return job;
}

Job Lightning() {
  Job job = JobOf({{{.mixer = Mixer::kRecurrent}, 2}, {{}, 1}});
  job.model.language_model.recurrent = RecurrentSpec{.scan = ScanKind::kLightning,
                                                     .key_heads = 16,
                                                     .key_dim = 64,
                                                     .value_heads = 16,
                                                     .value_dim = 64};
  return job;
}

// Residuals over blocks, a full gate, and experts that work in a latent width with a norm.
Job KimiK3() {
  LanguageLayer recurs{.mixer = Mixer::kRecurrent, .experts = true}, attends{.experts = true};
  Job job = JobOf({{recurs, 2}, {attends, 1}});
  LanguageModel& m = job.model.language_model;
  m.kv_heads = 16, m.qk_norm = false;
  m.recurrent =
      Recurrent(ScanKind::kChannelDelta, Mixer::kRecurrent).model.language_model.recurrent;
  m.recurrent->full_gate = true;
  m.mla = MlaSpec{
      .q_lora_rank = 192, .kv_lora_rank = 128, .qk_nope_dim = 64, .qk_rope_dim = 32, .v_dim = 64};
  m.attention_gate = true;
  m.streams = 4, m.stream_kind = StreamKind::kBlocks;
  m.moe = MoeSpec{.experts = 8,
                  .top_k = 2,
                  .expert_ffn = 256,
                  .shared_ffn = 512,
                  .latent = 512,
                  .latent_norm = true};
  return job;
}

Job ImageExperts() {
  Job job = JobOf({{{.experts = true}, 2}});
  job.model.language_model.moe =
      MoeSpec{.experts = 8, .top_k = 2, .expert_ffn = 512, .image_ffn = 128};
  job.dataset.bins = {{.units = 1024, .llm_tokens = 4096, .count = 10}};
  return job;
}

std::vector<Job> All() {
  return {Compressed(),
          Gemma3n(),
          Lightning(),
          KimiK3(),
          ImageExperts(),
          Gemma(),
          GemmaExperts(),
          MixedHeads(),
          Indexed(),
          Recurrent(ScanKind::kChannelDelta, Mixer::kRecurrent),
          Recurrent(ScanKind::kStates, Mixer::kBoth)};
}

const LayerCost& LayerAt(const LayerProfile& profile, int64_t layer) {
  return profile.at(layer + 1);  // after the embedding
}

int64_t MixedParameters(const LayerProfile& profile) {
  int64_t sum = 0;
  for (int64_t i = 0; i < profile.size(); ++i) sum += profile.at(i).parameters;
  return sum;
}

// Norms of heads are Hugging Face's RMSNorm where modules are eager: 42 bytes a value forward, 98
// backward, as measured. The weights are of one head.
TEST(MixedLayersTest, EagerNormsOfHeadsTakeMoreThanFusedOnes) {
  Job job = JobOf({{LanguageLayer{}, 1}});
  const PackShape pack{.tokens = 1 << 19, .squared = 4096.0 * (1 << 19)};
  const auto layer = [&](bool norms) {
    job.model.language_model.qk_norm = norms;
    const LayerProfile profile = BuildLayerProfile(job, {}, pack, pack);
    return *std::find_if(profile.classes.begin(), profile.classes.end(),
                         [](const LayerCost& c) { return c.kind == LayerKind::kDense; });
  };
  const auto added = [&](bool fused, int64_t LayerCost::*pass) {
    job.training.execution.fused_kernels = fused;
    return static_cast<double>(layer(true).*pass - layer(false).*pass);
  };
  EXPECT_EQ(layer(true).parameters - layer(false).parameters, 2 * 64);
  const double values = pack.tokens * (16 + 4) * 64;
  const double ns = KernelTime(job.cluster.gpu, job.constants).MemoryBound(1).per_row;
  EXPECT_GT(added(false, &LayerCost::forward_ns), 40 * values * ns);
  EXPECT_GT(added(false, &LayerCost::backward_ns), 95 * values * ns);
  EXPECT_LT(added(true, &LayerCost::forward_ns), 10 * values * ns);
}

TEST(MixedLayersTest, OperationsHoldTheParametersOfTheModel) {
  for (const Job& job : All())
    EXPECT_EQ(MixedParameters(BuildLayerProfile(job, {}, kMixedPack, kMixedPack)),
              CountParameters(job.model));
}

TEST(MixedLayersTest, TensorRanksHoldLess) {
  for (const Job& job : All()) {
    ASSERT_TRUE(TensorParallelAllowed(job.model, 2));
    const LayerProfile one = BuildLayerProfile(job, {}, kMixedPack, kMixedPack);
    const LayerProfile two = BuildLayerProfile(job, {.tensor = 2}, kMixedPack, kMixedPack);
    EXPECT_LT(MixedParameters(two), MixedParameters(one));
    for (int64_t i = 0; i < job.model.language_model.layers; ++i) {
      const int64_t whole = LayerAt(one, i).modes.front().kept_bytes;
      EXPECT_LT(LayerAt(two, i).modes.front().kept_bytes, whole);
      EXPECT_GE(LayerAt(two, i).modes.front().kept_bytes, whole / 2);
    }
  }
}

// The window's squares, and those of the entries: all of many tokens, the best 256 of few.
TEST(MixedLayersTest, EntriesStandForTokens) {
  const Job job = Compressed();
  const LayerProfile profile = BuildLayerProfile(job, {}, kMixedPack, kMixedPack);
  const auto flops = [&](int64_t layer) {
    return LayerAt(profile, layer).forward_flops.at(kMixedPack);
  };
  const double tokens = 4096, heads = 16.0 * (64 + 64);
  const double many = tokens * tokens / 128, most = 256 * 4;
  const double few = most * (2 * tokens - most) / 4;
  const double projections = 2 * 1024 * 2 * 64 * tokens;
  EXPECT_NEAR(flops(3) - flops(0), many * heads + projections, 1e-6 * flops(0));
  // Two series of each, for what attention sees and for the index, which scores every entry.
  const double index =
      2 * tokens * (1024 * (4 * 32 + 6) + 192 * 6 * 32) + tokens * tokens / 4 * 6 * 32;
  EXPECT_NEAR(flops(1) - flops(0), few * heads + 2 * projections + index, 1e-6 * flops(0));
}

TEST(MixedLayersTest, GroupsOfHeadsBoundTheDegree) {
  Job job = Compressed();
  EXPECT_TRUE(TensorParallelAllowed(job.model, 4));
  EXPECT_FALSE(TensorParallelAllowed(job.model, 8));  // though there are 16 heads
  job = Recurrent(ScanKind::kStates, Mixer::kBoth);
  EXPECT_TRUE(TensorParallelAllowed(job.model, 8));
  EXPECT_FALSE(TensorParallelAllowed(job.model, 16));  // of 8 value heads
  EXPECT_EQ(ContextFaultOf(job.model, 8, 2, {.kind = ContextKind::kRing}),
            ContextFault::kRecurrentHeads);
}

TEST(MixedLayersTest, StreamsAndPerLayerInputsPassFromStageToStage) {
  const auto output = [](Job job, auto change) {
    change(job.model.language_model);
    return LayerAt(BuildLayerProfile(job, {}, kMixedPack, kMixedPack), 0).output_bytes;
  };
  const int64_t rows = 2 * 4096;
  EXPECT_EQ(output(Compressed(), [](LanguageModel&) {}), rows * 4 * 1024);
  EXPECT_EQ(output(Compressed(), [](LanguageModel& m) { m.streams = 1; }), rows * 1024);
  // 6 vectors of 32, and keys and values of 4 heads that two layers reuse.
  EXPECT_EQ(output(Gemma(), [](LanguageModel&) {}), rows * (1024 + 6 * 32 + 2 * 4 * 64));
  EXPECT_EQ(PassedWidth(MixedHeads().model.language_model), 1024);
}

TEST(MixedLayersTest, AllStreamsOfEitherKindPass) {
  EXPECT_EQ(PassedWidth(Gemma3n().model.language_model), 3 * 1024 + 6 * 32 + 2 * 4 * 64);
  EXPECT_EQ(PassedWidth(KimiK3().model.language_model), 4 * 1024);
}

// A quarter of the tokens are those of images, whose experts are a quarter as wide.
TEST(MixedLayersTest, TokensOfImagesVisitTheirOwnExperts) {
  Job job = ImageExperts();
  const auto flops = [&] {
    return LayerAt(BuildLayerProfile(job, {}, kMixedPack, kMixedPack), 0)
        .forward_flops.at(kMixedPack);
  };
  const double mixed = flops();
  const double products = 4096.0 * 2 * (2 * 3 * 1024 * 512);  // of two experts without images
  job.dataset.bins = {{.llm_tokens = 4096, .count = 10}};
  EXPECT_NEAR(flops() - mixed, products / 4 * 3 / 4, 1e-6 * mixed);
}

TEST(MixedLayersTest, ReusedKeysAreNeitherMadeNorKept) {
  const Job job = Gemma();
  LanguageLayer own = RunsOf(job.model.language_model)[2].layer;
  own.key_values = KeyValues::kProjected;
  Job without = job;
  without.model.language_model.runs[2].layer = own;
  const LayerProfile reuses = BuildLayerProfile(job, {}, kMixedPack, kMixedPack);
  const LayerProfile makes = BuildLayerProfile(without, {}, kMixedPack, kMixedPack);
  EXPECT_EQ(LayerAt(makes, 4).parameters - LayerAt(reuses, 4).parameters,
            1024 * 2 * 4 * 64 + 64);  // and the norm of the keys
  EXPECT_LT(LayerAt(reuses, 4).forward.at(kMixedPack), LayerAt(makes, 4).forward.at(kMixedPack));
  // The keys before their norm too.
  EXPECT_EQ(
      LayerAt(makes, 4).modes.front().kept_bytes - LayerAt(reuses, 4).modes.front().kept_bytes,
      2 * 4096 * 3 * 4 * 64);
}

// The mixers of a layer that has both cost what they cost apart, except for one norm and one
// residual.
TEST(MixedLayersTest, BothMixersAreTheSumOfTheirWork) {
  const auto flops = [](Mixer mixer) {
    const Job job = Recurrent(ScanKind::kStates, mixer);
    return LayerAt(BuildLayerProfile(job, {}, kMixedPack, kMixedPack), 0)
        .forward_flops.at(kMixedPack);
  };
  const double mlp = flops(Mixer::kNone);
  EXPECT_NEAR(flops(Mixer::kBoth) - mlp,
              flops(Mixer::kAttention) - mlp + flops(Mixer::kRecurrent) - mlp, 1e-6 * mlp);
}

// The chunked scan is that of a gated delta net; its decays and its gate go through low ranks.
TEST(MixedLayersTest, FlopsOfKimiDeltaAttention) {
  const Job job = Recurrent(ScanKind::kChannelDelta, Mixer::kRecurrent);
  const double hidden = 1024, width = 8 * 96;
  const double inputs = 2 * hidden * (3 * width + 8 + 2 * 96) + 2 * 2 * 96 * width;
  const double scan = 8 * (2 * 64 * 5 * 96 + 6 * 96 * 96);
  const double mlp = 2 * 3 * hidden * 3072;
  const double expected = 4096 * (inputs + scan + 2 * width * hidden + mlp);
  const LayerProfile profile = BuildLayerProfile(job, {}, kMixedPack, kMixedPack);
  EXPECT_NEAR(LayerAt(profile, 0).forward_flops.at(kMixedPack), expected, 1e-6 * expected);
}

}  // namespace
}  // namespace evenkeel::planner
