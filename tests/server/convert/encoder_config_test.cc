// Configs of decoders that attend to an encoder, and of encoders with projectors of several steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/model/layer_runs.h"
#include "planner/model/parameters.h"
#include "server/convert/config/model_config.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/read_config.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json WhisperLarge() {
  return {{"model_type", "whisper"},  {"is_encoder_decoder", true}, {"d_model", 1280},
          {"encoder_layers", 32},     {"num_hidden_layers", 32},    {"encoder_attention_heads", 20},
          {"encoder_ffn_dim", 5120},  {"decoder_layers", 32},       {"decoder_attention_heads", 20},
          {"decoder_ffn_dim", 5120},  {"num_mel_bins", 128},        {"classifier_proj_size", 256},
          {"median_filter_width", 7}, {"vocab_size", 51866}};
}

int64_t TowerParameters(const ConfiguredModel& model, size_t tower) {
  return planner::CountParameters(model.towers[tower].encoder) +
         planner::CountParameters(model.towers[tower].projector, model.spec.hidden);
}

// As transformers 5.23 counts them; tests/models/run.sh compares other shapes.
TEST(EncoderConfigTest, WhisperHasTransformersParameters) {
  const auto model = ReadConfig(WhisperLarge());
  ASSERT_TRUE(model);
  ASSERT_EQ(model->towers.size(), 1u);
  EXPECT_EQ(TowerParameters(*model, 0), 636'968'960);
  EXPECT_EQ(planner::CountParameters(model->spec), 906'521'600);
  ASSERT_TRUE(model->spec.cross);
  EXPECT_EQ(model->spec.cross->tokens_per_unit, 1500);
  EXPECT_EQ(model->spec.cross->width, 1280);
  const std::vector<planner::LanguageLayer> classes = planner::ClassesOf(model->spec);
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_TRUE(classes[0].cross);
  // No token of the decoder's comes from the encoder.
  EXPECT_EQ(model->towers[0].encoder.llm_tokens_per_unit, 0);
}

TEST(EncoderConfigTest, WhisperRefusalsNameTheKey) {
  json config = WhisperLarge();
  config["num_hidden_layers"] = 24;
  EXPECT_THAT(Refusal(config), HasSubstr("\"encoder_layers\" and \"num_hidden_layers\""));
  config = WhisperLarge();
  config["decoder_attention_heads"] = 24;
  EXPECT_THAT(Refusal(config), HasSubstr("\"decoder_attention_heads\""));
  config = WhisperLarge();
  config["conv_layers"] = 3;
  EXPECT_THAT(Refusal(config), HasSubstr("\"conv_layers\""));
  config = WhisperLarge();
  config["text_config"] = {{"model_type", "llama"}, {"hidden_size", 64}};
  EXPECT_THAT(Refusal(config), HasSubstr("has the part \"text_config\""));
  config = WhisperLarge();
  config["audio_config"] = {{"d_model", 64}};
  EXPECT_THAT(Refusal(config), HasSubstr("has the part \"audio_config\""));
  const json inside = {{"model_type", "voxtral"}, {"text_config", WhisperLarge()}};
  EXPECT_THAT(Refusal(inside), HasSubstr("cannot be a part of another model"));
}

std::vector<std::string> Violations(const v1::PlanJobRequest& request, planner::Job* job) {
  std::vector<std::string> lines;
  for (const Violation& v : JobFromProto(request, job))
    lines.push_back(v.field + ": " + v.description);
  return lines;
}

TEST(EncoderConfigTest, ASampleOfWhisperIsOneUnit) {
  v1::PlanJobRequest request;
  request.mutable_job()->mutable_model()->set_config_json(WhisperLarge().dump());
  v1::GpuPool& pool = *request.mutable_job()->mutable_cluster()->add_pools();
  pool.set_gpu_type("h100-sxm-80gb");
  pool.set_gpu_count(8);
  planner::Job assumed;
  EXPECT_THAT(Violations(request, &assumed), IsEmpty());
  ASSERT_EQ(assumed.dataset.bins.size(), 1u);
  EXPECT_EQ(assumed.dataset.bins[0].units[0], 1);
  v1::Histogram& data = *request.mutable_job()->mutable_dataset()->mutable_histogram();
  for (const int64_t units : {1, 30}) data.add_units(units);
  for (const int64_t tokens : {100, 300}) data.add_llm_tokens(tokens), data.add_sample_count(10);
  planner::Job job;
  EXPECT_THAT(Violations(request, &job),
              ElementsAre(HasSubstr("units[1]: must be 1, the padded recording of a sample")));
  data.set_units(1, 1);
  planner::Job planned;
  EXPECT_THAT(Violations(request, &planned), IsEmpty());
}

TEST(EncoderConfigTest, ProjectorsOfSeveralStepsHaveTransformersParameters) {
  const auto glm = ReadConfig({{"model_type", "glm4v"}, {"vision_config", {{"depth", 24}}}});
  ASSERT_TRUE(glm);
  EXPECT_EQ(TowerParameters(*glm, 0), 892'498'432);
  EXPECT_EQ(planner::CountParameters(glm->spec), 9'400'279'040);
  const auto minimax =
      ReadConfig({{"model_type", "minimax_m3_vl"}, {"vision_config", {{"patch_size", 14}}}});
  ASSERT_TRUE(minimax);
  EXPECT_EQ(TowerParameters(*minimax, 0), 865'567'232);
  EXPECT_EQ(planner::CountParameters(minimax->spec), 447'186'441'216);
  const auto ernie =
      ReadConfig({{"model_type", "ernie4_5_vl_moe"}, {"vision_config", {{"depth", 32}}}});
  ASSERT_TRUE(ernie);
  EXPECT_EQ(TowerParameters(*ernie, 0), 774'658'560);
  EXPECT_EQ(planner::CountParameters(ernie->spec), 28'624'635'776);
  EXPECT_EQ(ernie->spec.moe->image_ffn, 512);
  const auto idefics =
      ReadConfig({{"model_type", "idefics2"}, {"vision_config", {{"patch_size", 32}}}});
  ASSERT_TRUE(idefics);
  EXPECT_EQ(TowerParameters(*idefics, 0), 819'662'848);
  EXPECT_EQ(planner::CountParameters(idefics->spec), 7'241'732'096);
  EXPECT_EQ(idefics->towers[0].encoder.llm_tokens_per_unit, 64);
}

TEST(EncoderConfigTest, PartsOfAnIdeficsAreChecked) {
  json config = {{"model_type", "idefics2"},
                 {"vision_config", {{"patch_size", 32}}},
                 {"perceiver_config", {{"resampler_n_latents", 32}, {"hidden_act", "silu"}}}};
  EXPECT_EQ(ReadConfig(config)->towers[0].encoder.llm_tokens_per_unit, 32);
  config["perceiver_config"]["num_key_value_heads"] = 3;
  EXPECT_THAT(Refusal(config), HasSubstr("\"perceiver_config.num_key_value_heads\" must divide"));
  config["perceiver_config"] = {{"num_experts", 3}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"perceiver_config.num_experts\""));
}

TEST(EncoderConfigTest, GemmaMayHear) {
  json config = {{"model_type", "gemma4"}, {"audio_config", json::object()}};
  config["audio_config"]["hidden_size"] = 1024;
  const auto model = ReadConfig(config);
  ASSERT_TRUE(model);
  ASSERT_EQ(model->towers.size(), 1u);
  EXPECT_EQ(TowerParameters(*model, 0), 308'363'552);
  EXPECT_EQ(planner::CountParameters(model->spec), 5'077'177'856);
  EXPECT_EQ(model->towers[0].encoder.window_tokens, 24);
  config["audio_config"]["subsampling_conv_channels"] = {126, 32};
  EXPECT_THAT(Refusal(config), HasSubstr("of which 4 divides the first"));
}

TEST(EncoderConfigTest, PhiHasTransformersParameters) {
  json config = {{"model_type", "phi4_multimodal"}};
  const auto model = ReadConfig(config);
  ASSERT_TRUE(model);
  ASSERT_EQ(model->towers.size(), 2u);
  EXPECT_EQ(TowerParameters(*model, 0), 441'550'016);
  EXPECT_EQ(TowerParameters(*model, 1), 466'432'256);
  EXPECT_EQ(planner::CountParameters(model->spec), 4'400'286'720);
  EXPECT_EQ(model->towers[0].encoder.llm_tokens_per_unit, 256);
  EXPECT_EQ(model->towers[1].encoder.window_tokens, 500);
  config["vision_config"] = {{"image_size", 434}};  // 31 patches a side, padded to 32
  EXPECT_EQ(ReadConfig(config)->towers[0].encoder.llm_tokens_per_unit, 256);
  config["audio_config"] = {{"ext_pw_out_channel", 512}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"audio_config.ext_pw_out_channel\""));
  config["audio_config"] = {{"time_reduction", 4}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"audio_config.time_reduction\" other than 8"));
  config["audio_config"] = {{"conv_layers", 4}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"audio_config.conv_layers\""));
}

TEST(EncoderConfigTest, WhatNobodyCanReadIsRefusedWithTheReason) {
  const json kimi = {{"model_type", "kimi_k3"}, {"vision_config", {{"patch_size", 14}}}};
  EXPECT_THAT(Refusal(kimi), HasSubstr("patchmergerv2"));
  const json gemma = {{"model_type", "gemma3n"}, {"vision_config", {{"hidden_size", 2048}}}};
  EXPECT_THAT(Refusal(gemma), HasSubstr("MobileNet"));
}

TEST(EncoderConfigTest, HeadsOfGlm41VHaveNoWidthOfTheirOwn) {
  json config = {{"model_type", "glm4v_text"},
                 {"hidden_size", 4096},
                 {"num_attention_heads", 32},
                 {"num_hidden_layers", 2},
                 {"intermediate_size", 13696},
                 {"vocab_size", 5000},
                 {"head_dim", 128}};
  EXPECT_TRUE(ReadConfig(config));
  config["head_dim"] = 64;
  EXPECT_THAT(Refusal(config), HasSubstr("\"head_dim\" must be 128"));
}

// The features of Kimi K3 that Kimi Linear lacks. No code of transformers' has it: its report
// states 2.78 trillion parameters, and 104 billion active ones.
TEST(EncoderConfigTest, KimiK3HasItsPublishedParameters) {
  json full = json::array(), delta = json::array();
  for (int layer = 1; layer <= 93; ++layer)
    (layer % 4 == 0 || layer == 93 ? full : delta).push_back(layer);
  const auto model = ReadConfig({{"model_type", "kimi_linear"},
                                 {"hidden_size", 7168},
                                 {"intermediate_size", 33792},
                                 {"num_hidden_layers", 93},
                                 {"num_attention_heads", 96},
                                 {"num_key_value_heads", 96},
                                 {"vocab_size", 163840},
                                 {"q_lora_rank", 1536},
                                 {"kv_lora_rank", 512},
                                 {"num_experts", 896},
                                 {"num_experts_per_token", 16},
                                 {"num_shared_experts", 2},
                                 {"moe_intermediate_size", 3072},
                                 {"routed_expert_hidden_size", 3584},
                                 {"latent_moe_use_norm", true},
                                 {"mla_use_output_gate", true},
                                 {"attn_res_block_size", 12},
                                 {"linear_attn_config",
                                  {{"full_attn_layers", full},
                                   {"kda_layers", delta},
                                   {"head_dim", 128},
                                   {"num_heads", 96},
                                   {"short_conv_kernel_size", 4},
                                   {"use_full_rank_gate", true}}}});
  ASSERT_TRUE(model);
  EXPECT_NEAR(static_cast<double>(planner::CountParameters(model->spec)), 2.78e12, 5e9);
  const int64_t embedding = 163840 * 7168;
  EXPECT_NEAR(static_cast<double>(planner::CountActiveParameters(model->spec) - embedding), 104e9,
              1e9);
  EXPECT_EQ(model->spec.streams, 9);  // 8 blocks, and the one that a layer is in
  EXPECT_THAT(model->source, HasSubstr("Kimi K3's report"));
}

}  // namespace
}  // namespace evenkeel::server
