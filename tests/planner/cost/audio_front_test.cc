// Convolutions that make tokens of audio.
#include "planner/model/audio_front.h"

#include <gtest/gtest.h>

#include "planner/cost/layer_profile.h"
#include "planner/model/parameters.h"
#include "planner/workload/unit_scales.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kAudioPack{.units = 1024, .tokens = 4096, .squared = 4096.0 * 4096};

EncoderTower Audio(AudioFront front) {
  return {.encoder = {.name = "audio",
                      .modality = Modality::kAudio,
                      .layers = 4,
                      .hidden = 512,
                      .heads = 8,
                      .head_dim = 64,
                      .ffn = 2048,
                      .tokens_per_unit = 1,
                      .llm_tokens_per_unit = 1,
                      .native_resolution = true,
                      .window_tokens = 104,
                      .other_parameters = 1024,
                      .key_bias = false,
                      .front = front},
          .projector = {.input_width = 512, .hidden_width = 512, .norm = true}};
}

LayerProfile ProfileOf(const AudioFront& front, Job& job) {
  job.model.towers = {Audio(front)};
  return BuildLayerProfile(job, {}, kAudioPack, kAudioPack);
}

TEST(AudioFrontTest, LayersFollowTheSpectra) {
  const auto two = FrontLayersOf({.mel_bins = 80}, 512);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].in, 240);
  EXPECT_EQ(two[0].positions, 2);
  EXPECT_EQ(two[1].in, 1536);
  const auto three = FrontLayersOf({.mel_bins = 100, .channels = 480}, 512);
  ASSERT_EQ(three.size(), 4u);
  EXPECT_EQ(three[0].in, 9);
  EXPECT_EQ(three[0].positions, 4 * 50);
  EXPECT_EQ(three[1].positions, 2 * 25);
  EXPECT_EQ(three[1].values, 4 * 50 * 480);
  EXPECT_EQ(three[2].positions, 13);
  EXPECT_EQ(three[3].in, 13 * 480);
  EXPECT_FALSE(three[3].bias);
}

TEST(AudioFrontTest, CostsHaveTheParametersOfTheModel) {
  for (const AudioFront front : {AudioFront{}, AudioFront{.mel_bins = 80, .channels = 480}}) {
    Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
    const LayerProfile profile = ProfileOf(front, job);
    int64_t parameters = 0;
    for (int64_t i = 0; i < profile.size(); ++i) parameters += profile.at(i).parameters;
    EXPECT_EQ(parameters, CountParameters(job.model));
  }
}

// Their few weights work at many positions, and leave wide outputs behind.
TEST(AudioFrontTest, ConvolutionsOverBinsAreDearer) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  const LayerCost two = ProfileOf({}, job).at(0);
  const LayerCost three = ProfileOf({.channels = 480}, job).at(0);
  EXPECT_GT(three.forward_ns, 5 * two.forward_ns);
  EXPECT_GT(three.modes.front().kept_bytes, 20 * two.modes.front().kept_bytes);
  job.model.towers = {Audio({}), Audio({.channels = 480})};
  const PerEncoder<int64_t> scales = UnitScalesOf(job.model);
  EXPECT_EQ(scales[0], 1);
  EXPECT_GT(scales[1], 5);
}

}  // namespace
}  // namespace evenkeel::planner
