#include "planner/packing/caps.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "planner/catalog/default_dataset.h"
#include "planner/packing/pack_dataset.h"
#include "planner/packing/sample.h"

namespace evenkeel::planner {
namespace {

SampleTypes DatasetTypes(const Dataset& dataset) {
  SampleTypes types;
  for (const LengthBin& bin : dataset.bins)
    types.push_back(
        {static_cast<int32_t>(bin.units[0]), static_cast<int32_t>(bin.llm_tokens), bin.count});
  return types;
}

// Returns DistRatio of tokens and units in random order, one pack per rank.
Balance Packed(const Caps& caps, int64_t ranks) {
  static const DrawnSamples all = DrawSamples(DefaultVisionLanguageDataset(), int64_t{1} << 40);
  return PackAndDeal(
             all.lengths(),
             {.pack = {.caps = caps}, .deal = {.ranks = ranks, .window = 1}, .bound = false})
      .balance;
}

TEST(CapsTest, PacksUnderTheDerivedCapsAreLevel) {
  const CapsRule rule(DatasetTypes(DefaultVisionLanguageDataset()), {});
  const CapsChoice choice = rule.Balanced();
  const Balance eight = Packed(choice.caps, 8), many = Packed(choice.caps, 64);
  EXPECT_LE(eight.dist_ratio_units, .001);
  EXPECT_LE(eight.dist_ratio_tokens, .01);
  EXPECT_LE(many.dist_ratio_tokens, .02);
}

// The rule does not pack, but its expectation matches the result of packing.
TEST(CapsTest, ExpectsWhatPackingGives) {
  for (const int64_t units : {10, 18, 20, 24, 32, 40}) {
    const CapsChoice choice =
        CapsRule(DatasetTypes(DefaultVisionLanguageDataset()), {units, 0}).Balanced();
    ASSERT_EQ(choice.caps.units, units);
    for (const int64_t ranks : {8, 64}) {
      EXPECT_NEAR(choice.Imbalance(ranks), Packed(choice.caps, ranks).dist_ratio_tokens, .01)
          << units << " units, " << ranks << " ranks";
    }
  }
}

TEST(CapsTest, LongerPacksAreExpectedMoreLevel) {
  const CapsRule rule(DatasetTypes(DefaultVisionLanguageDataset()), {});
  CapsChoice shorter = rule.Least();
  int compared = 0;
  for (double samples = 2; samples < rule.Balanced().samples_per_pack; samples *= 1.2) {
    const std::optional<CapsChoice> choice = rule.OfSamples(samples);
    ASSERT_TRUE(choice.has_value());
    EXPECT_GE(choice->samples_per_pack, samples * (1 - 1e-9));
    EXPECT_LT(choice->samples_per_pack, samples + 1);
    EXPECT_LT(choice->Imbalance(64), shorter.Imbalance(64));
    EXPECT_GT(choice->caps.units, shorter.caps.units);
    EXPECT_GE(choice->caps.tokens, shorter.caps.tokens);
    shorter = *choice;
    ++compared;
  }
  EXPECT_GT(compared, 5);
  EXPECT_FALSE(rule.OfSamples(1e9).has_value());
  EXPECT_FALSE(CapsRule(DatasetTypes(DefaultVisionLanguageDataset()), {12, 0}).OfSamples(4));
}

TEST(CapsTest, GivenCapsAreKept) {
  const SampleTypes types = DatasetTypes(DefaultVisionLanguageDataset());
  EXPECT_EQ(CapsRule(types, {9, 4096}).Balanced().caps, (Caps{9, 4096}));
  const CapsChoice tokens = CapsRule(types, {0, 4096}).Balanced();
  EXPECT_EQ(tokens.caps.tokens, 4096);
  EXPECT_LE(tokens.level_tokens, 4096);
  EXPECT_GE(tokens.caps.units, 5);
  EXPECT_EQ(CapsRule(types, {12, 0}).Balanced().caps.units, 12);
}

// Tries sets of samples that are as unusual as possible.
TEST(CapsTest, HostileSets) {
  struct Set {
    SampleTypes types;
    int64_t longest_pack;  // the longest pack that makes sense, tokens
    int64_t alone = 0;
  };
  const std::vector<Set> sets = {
      {{{0, 1, 1}}, 4096},
      {{{0, 131072, 1}}, 131072},
      {{{0, 100, 100000}, {0, 131072, 3}}, 4096, 3},
      {{{0, 300, 20000}, {0, 4000000, 1}}, 4096, 1},
      {{{0, 700, 100000}, {1, 900, 3}}, 4096},
      {{{1, 300, 1000000}}, 4096},
      {{{40, 10300, 5}}, 12288},
      {{{1, 257, 10}, {40, 16777216, 1}}, 16800000},
      {{{0, 4000, 50}, {5, 1300, 50}}, 32768},
      {{{1000000, 16777216, 2}}, 17000000},
  };
  for (const Set& set : sets) {
    const CapsRule rule(set.types, {});
    const CapsChoice level = rule.Balanced();
    std::vector<CapsChoice> choices = {level};
    if (!level.by_tokens) choices.push_back(rule.Least());
    for (double samples = 1; samples < level.samples_per_pack; samples *= 1.5)
      if (const std::optional<CapsChoice> choice = rule.OfSamples(samples))
        choices.push_back(*choice);
    for (const CapsChoice& choice : choices) {
      int64_t alone = 0;
      for (const SampleType& t : set.types)
        if (!choice.caps.Hold(t.units, t.tokens)) alone += t.count;
      EXPECT_EQ(alone, set.alone) << choice.caps.units << ", " << choice.caps.tokens;
      EXPECT_EQ(choice.alone, set.alone);
      EXPECT_LE(choice.caps.tokens, set.longest_pack);
    }
    EXPECT_GE(level.Imbalance(64), 0);
    EXPECT_LE(level.Imbalance(64), 1);
    EXPECT_NE(BalanceReason(level), "");
  }
}

TEST(CapsTest, NamesWhatTheTokenCapFollowsFrom) {
  const auto reason = [](const SampleTypes& types, const Caps& given) {
    return BalanceReason(CapsRule(types, given).Balanced());
  };
  EXPECT_EQ(reason({{0, 5000, 1000}}, {}), "the longest sample decides");
  EXPECT_EQ(reason({{0, 4096, 1000}}, {}), "the default: no sample is longer");
  const SampleTypes rare_units = {{1, 5000, 1}, {0, 5000, 1000}};
  EXPECT_EQ(reason(rare_units, {}),
            "the longest sample decides: units are too rare to fill packs evenly");
  EXPECT_EQ(reason(rare_units, {0, 6000}), "the given token cap decides");
}

}  // namespace
}  // namespace evenkeel::planner
