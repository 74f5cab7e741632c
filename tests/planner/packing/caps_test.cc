#include "planner/packing/caps.h"

#include <gtest/gtest.h>

#include "planner/catalog/default_dataset.h"
#include "planner/packing/pack_dataset.h"
#include "planner/packing/sample.h"

namespace evenkeel::planner {
namespace {

SampleTypes TypesOf(const Dataset& dataset) {
  SampleTypes types;
  for (const LengthBin& bin : dataset.bins)
    types.push_back(
        {static_cast<int32_t>(bin.units), static_cast<int32_t>(bin.llm_tokens), bin.count});
  return types;
}

// DistRatio of tokens and units in random order, one pack per rank.
Balance Packed(const Caps& caps, int64_t ranks) {
  static const DrawnSamples all = DrawSamples(DefaultVisionLanguageDataset(), int64_t{1} << 40);
  return PackAndDeal(
             all.lengths(),
             {.pack = {.caps = caps}, .deal = {.ranks = ranks, .window = 1}, .bound = false})
      .balance;
}

TEST(CapsTest, PacksUnderTheDerivedCapsAreLevel) {
  const CapsRule rule(TypesOf(DefaultVisionLanguageDataset()), {});
  const CapsChoice choice = rule.Balanced();
  const Balance eight = Packed(choice.caps, 8), many = Packed(choice.caps, 64);
  EXPECT_LE(eight.dist_ratio_units, .001);
  EXPECT_LE(eight.dist_ratio_tokens, .01);
  EXPECT_LE(many.dist_ratio_tokens, .02);
}

// The rule tries nothing: what it expects is what packing gives.
TEST(CapsTest, ExpectsWhatPackingGives) {
  const CapsRule rule(TypesOf(DefaultVisionLanguageDataset()), {});
  for (const int64_t units : {10, 18, 20, 24, 32, 40}) {
    const CapsChoice choice =
        CapsRule(TypesOf(DefaultVisionLanguageDataset()), {units, 0}).Balanced();
    ASSERT_EQ(choice.caps.units, units);
    for (const int64_t ranks : {8, 64}) {
      EXPECT_NEAR(choice.Imbalance(ranks), Packed(choice.caps, ranks).dist_ratio_tokens, .01)
          << units << " units, " << ranks << " ranks";
    }
  }
}

TEST(CapsTest, LongerPacksAreExpectedMoreLevel) {
  const CapsRule rule(TypesOf(DefaultVisionLanguageDataset()), {});
  const std::vector<CapsChoice> choices = rule.Shorter(rule.Balanced());
  ASSERT_GT(choices.size(), 5u);
  for (size_t i = 1; i < choices.size(); ++i) {
    EXPECT_LT(choices[i].Imbalance(64), choices[i - 1].Imbalance(64));
    EXPECT_GT(choices[i].caps.units, choices[i - 1].caps.units);
    EXPECT_GE(choices[i].caps.tokens, choices[i - 1].caps.tokens);
  }
}

TEST(CapsTest, GivenCapsAreKept) {
  const SampleTypes types = TypesOf(DefaultVisionLanguageDataset());
  EXPECT_EQ(CapsRule(types, {9, 4096}).Balanced().caps, (Caps{9, 4096}));
  const CapsChoice tokens = CapsRule(types, {0, 4096}).Balanced();
  EXPECT_EQ(tokens.caps.tokens, 4096);
  EXPECT_LE(tokens.level_tokens, 4096);
  EXPECT_GE(tokens.caps.units, 5);
  EXPECT_EQ(CapsRule(types, {12, 0}).Balanced().caps.units, 12);
}

// Sets that are as unlike the usual as can be: every sample must fit.
TEST(CapsTest, HostileSetsFit) {
  const std::vector<SampleTypes> sets = {
      {{0, 1, 1}},
      {{0, 131072, 1}},
      {{0, 100, 100000}, {0, 131072, 3}},
      {{1, 300, 1000000}},
      {{40, 10300, 5}},
      {{1, 257, 10}, {40, 16777216, 1}},
      {{0, 4000, 50}, {5, 1300, 50}},
      {{1000000, 16777216, 2}},
  };
  for (const SampleTypes& types : sets) {
    const CapsRule rule(types, {});
    std::vector<CapsChoice> choices = rule.Shorter(rule.Balanced());
    choices.push_back(rule.Balanced());
    for (const CapsChoice& choice : choices)
      for (const SampleType& t : types)
        EXPECT_TRUE(choice.caps.Hold(t.units, t.tokens)) << choice.caps.units;
    EXPECT_GE(rule.Balanced().Imbalance(64), 0);
    EXPECT_LE(rule.Balanced().Imbalance(64), 1);
  }
}

}  // namespace
}  // namespace evenkeel::planner
