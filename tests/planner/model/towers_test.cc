#include "planner/model/towers.h"

#include <gtest/gtest.h>

#include <string>

namespace evenkeel::planner {
namespace {

ModelSpec WithTowers(int64_t towers) {
  ModelSpec model;
  for (int64_t i = 1; i <= towers; ++i) {
    Encoder encoder;
    encoder.name = std::string(1, static_cast<char>('a' + i - 1));
    encoder.layers = 10 * i, encoder.tokens_per_unit = 100 * i;
    encoder.llm_tokens_per_unit = 25 * i;
    model.towers.push_back({.encoder = encoder, .projector = {}});
  }
  return model;
}

TEST(TowersTest, FiguresAreSumsAndNamesAreJoined) {
  EXPECT_EQ(EncoderNames(WithTowers(0)), "");
  EXPECT_EQ(EncoderNames(WithTowers(1)), "a");
  EXPECT_EQ(EncoderNames(WithTowers(2)), "a+b");
  EXPECT_EQ(EncoderLayers(WithTowers(0)), 0);
  EXPECT_EQ(EncoderLayers(WithTowers(2)), 30);
  EXPECT_EQ(LlmTokensPerUnit(WithTowers(1)), 25);
  EXPECT_EQ(LlmTokensPerUnit(WithTowers(2)), 75);
}

}  // namespace
}  // namespace evenkeel::planner
