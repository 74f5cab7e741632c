// Configs of models with an encoder of audio, alone or with one of images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/model/parameters.h"
#include "server/convert/config/model_config.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/read_config.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json Thinker25() {
  return {{"model_type", "qwen2_5_omni_thinker"}, {"vision_config", {{"hidden_size", 1280}}}};
}

json Thinker3() {
  return {{"model_type", "qwen3_omni_moe_thinker"},
          {"text_config",
           {{"num_attention_heads", 32},
            {"num_hidden_layers", 48},
            {"head_dim", 128},
            {"vocab_size", 152064}}},
          {"vision_config", {{"out_hidden_size", 2048}}},
          {"audio_config", {{"output_dim", 2048}}}};
}

int64_t ParametersOf(const ConfiguredModel& model, size_t tower) {
  return planner::CountParameters(model.towers[tower].encoder) +
         planner::CountParameters(model.towers[tower].projector, model.spec.hidden);
}

// As transformers 5.23 counts them; tests/models/run.sh compares other shapes.
TEST(AudioConfigTest, PartsHaveTransformersParameters) {
  const auto omni = ReadConfig(Thinker25());
  ASSERT_TRUE(omni);
  ASSERT_EQ(omni->towers.size(), 2u);
  EXPECT_EQ(ParametersOf(*omni, 0), 676'550'144);
  EXPECT_EQ(ParametersOf(*omni, 1), 639'647'232);
  EXPECT_EQ(planner::CountParameters(omni->spec), 7'615'616'512);
  const auto experts = ReadConfig(Thinker3());
  ASSERT_TRUE(experts);
  ASSERT_EQ(experts->towers.size(), 2u);
  EXPECT_EQ(ParametersOf(*experts, 0), 538'631'408);
  EXPECT_EQ(ParametersOf(*experts, 1), 647'927'168);
  EXPECT_EQ(planner::CountParameters(experts->spec), 30'532'646'912);
  const auto voxtral = ReadConfig({{"model_type", "voxtral"}});
  ASSERT_TRUE(voxtral);
  ASSERT_EQ(voxtral->towers.size(), 1u);
  EXPECT_EQ(planner::CountParameters(voxtral->towers[0].encoder), 636'968'960);
  EXPECT_EQ(planner::CountParameters(voxtral->towers[0].projector, 3072), 25'165'824);
  EXPECT_EQ(planner::CountParameters(voxtral->spec), 4'014'136'320);
  const auto audio = ReadConfig({{"model_type", "qwen2_audio"}});
  ASSERT_TRUE(audio);
  ASSERT_EQ(audio->towers.size(), 1u);
  EXPECT_EQ(ParametersOf(*audio, 0), 636'968'960 + 5'246'976);
  EXPECT_EQ(planner::CountParameters(audio->spec), 12'049'846'272);
}

// Chunked audio has units of one token of the language model; padded audio has units of 30 seconds.
TEST(AudioConfigTest, UnitsFollowTheEncoder) {
  const planner::Encoder pooled = ReadConfig(Thinker25())->towers[1].encoder;
  EXPECT_EQ(pooled.modality, planner::Modality::kAudio);
  EXPECT_TRUE(pooled.native_resolution);
  EXPECT_EQ(pooled.tokens_per_unit, 2);
  EXPECT_EQ(pooled.llm_tokens_per_unit, 1);
  EXPECT_EQ(pooled.window_tokens, 100);  // 2 seconds
  const planner::Encoder reaching = ReadConfig(Thinker3())->towers[1].encoder;
  EXPECT_EQ(reaching.tokens_per_unit, 1);
  EXPECT_EQ(reaching.window_tokens, 104);  // 8 chunks of 13 tokens
  EXPECT_EQ(reaching.front.channels, 480);
  const planner::Encoder padded = ReadConfig({{"model_type", "voxtral"}})->towers[0].encoder;
  EXPECT_FALSE(padded.native_resolution);
  EXPECT_EQ(padded.tokens_per_unit, 1500);
  EXPECT_EQ(padded.llm_tokens_per_unit, 375);
  EXPECT_EQ(ReadConfig({{"model_type", "qwen2_audio"}})->towers[0].encoder.llm_tokens_per_unit,
            750);
}

TEST(AudioConfigTest, OfAWholeTheThinkerIsRead) {
  json whole = {{"model_type", "qwen2_5_omni"},
                {"enable_audio_output", true},
                {"thinker_config", Thinker25()},
                {"talker_config", {{"hidden_size", 896}}},
                {"token2wav_config", {{"dit_config", {{"depth", 22}}}}}};
  const auto model = ReadConfig(whole);
  ASSERT_TRUE(model);
  EXPECT_EQ(planner::CountParameters(model->spec), 7'615'616'512);
  EXPECT_THAT(model->source, HasSubstr("\"talker_config\" and \"token2wav_config\" are left out"));
  whole["singer_config"] = {{"hidden_size", 64}};
  EXPECT_THAT(Refusal(whole), HasSubstr("has the part \"singer_config\""));
  whole.erase("singer_config");
  whole["num_talkers"] = 2;
  EXPECT_THAT(Refusal(whole), HasSubstr("\"num_talkers\""));
  whole.erase("num_talkers");
  whole["thinker_config"]["singer_config"] = {{"hidden_size", 64}};
  EXPECT_THAT(Refusal(whole), HasSubstr("has the part \"thinker_config.singer_config\""));
  whole["thinker_config"] = Thinker3();
  EXPECT_THAT(Refusal(whole), HasSubstr("must be of \"model_type\" \"qwen2_5_omni_thinker\""));
  whole.erase("thinker_config");
  EXPECT_THAT(Refusal(whole), HasSubstr("lacks \"thinker_config\""));
}

TEST(AudioConfigTest, RefusalsNameTheKey) {
  json config = Thinker25();
  config["audio_config"] = {{"conv_kernel_size", 5}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"audio_config.conv_kernel_size\""));
  config["audio_config"] = {{"output_dim", 2048}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"audio_config.output_dim\" must be the language model"));
  config["audio_config"] = {{"model_type", "siglip_vision_model"}};
  EXPECT_THAT(Refusal(config), HasSubstr("another kind of encoder"));
  config["audio_config"] = {{"model_type", "wav2vec2"}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"audio_config.model_type\" \"wav2vec2\" is not known"));
  const json voxtral = {{"model_type", "voxtral"}, {"audio_config", {{"intermediate_size", 4096}}}};
  EXPECT_THAT(Refusal(voxtral), HasSubstr("\"audio_config.intermediate_size\" must be"));
  const json vision = {{"model_type", "voxtral"}, {"vision_config", {{"hidden_size", 64}}}};
  EXPECT_THAT(Refusal(vision), HasSubstr("has the part \"vision_config\""));
  const json bart = {{"model_type", "bart"}, {"is_encoder_decoder", true}};
  EXPECT_THAT(Refusal(bart), HasSubstr("encoder-decoders such as \"bart\""));
  const json text = {{"model_type", "llama"}, {"audio_config", {{"d_model", 64}}}};
  EXPECT_THAT(Refusal(text),
              HasSubstr("with an audio encoder is not known; nearest: llama4, llava, mllama; "
                        "describe"));
}

std::vector<std::string> AudioViolations(const v1::PlanJobRequest& request, planner::Job* job) {
  std::vector<std::string> lines;
  for (const Violation& v : JobFromProto(request, job))
    lines.push_back(v.field + ": " + v.description);
  return lines;
}

TEST(AudioConfigTest, TwoEncodersNeedData) {
  v1::PlanJobRequest request;
  request.mutable_job()->mutable_model()->set_config_json(Thinker25().dump());
  v1::GpuPool& pool = *request.mutable_job()->mutable_cluster()->add_pools();
  pool.set_gpu_type("h100-sxm-80gb");
  pool.set_gpu_count(8);
  planner::Job job;
  EXPECT_THAT(AudioViolations(request, &job),
              ElementsAre("job.dataset: required for a model with several encoders: no data is "
                          "assumed for them"));
  v1::Histogram& data = *request.mutable_job()->mutable_dataset()->mutable_histogram();
  data.set_encoder_count(2);
  for (const int64_t units : {256, 0, 0, 50}) data.add_units(units);
  for (const int64_t tokens : {600, 300}) data.add_llm_tokens(tokens), data.add_sample_count(10);
  planner::Job planned;
  EXPECT_THAT(AudioViolations(request, &planned), testing::IsEmpty());
  ASSERT_EQ(planned.dataset.bins.size(), 2u);
  EXPECT_EQ(planned.dataset.bins[0].units[1], 50);
  // An image's token passes 4 patches through the encoder, one of audio 2 of its tokens.
  EXPECT_EQ(planned.dataset.unit_scales[0], 2);
  EXPECT_EQ(planned.dataset.unit_scales[1], 1);
}

}  // namespace
}  // namespace evenkeel::server
