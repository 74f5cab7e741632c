#include "planner/packing/isf.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

std::vector<SampleLength> SomeSamples(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<SampleLength> samples(count);
  for (SampleLength& s : samples) {
    s.units = static_cast<int64_t>(random.Below(12));
    s.tokens = static_cast<int64_t>(random.Below(4500)) + 1;
  }
  return samples;
}

const IsfRule kRule{9, 4096, 9, 3968, 10, 3};

TEST(IsfTest, PutsEverySampleIntoExactlyOnePackAndHoldsTheCaps) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<SampleLength> samples = SomeSamples(seed, 500 + seed * 37);
    std::vector<int> seen(samples.size());
    for (const std::vector<int32_t>& pack : PackByIsf(samples, kRule)) {
      ASSERT_FALSE(pack.empty());
      int64_t units = 0, tokens = 0;
      for (const int32_t i : pack) {
        ++seen[static_cast<size_t>(i)];
        units += samples[static_cast<size_t>(i)].units;
        tokens += samples[static_cast<size_t>(i)].tokens;
      }
      const bool within = units <= kRule.unit_cap && tokens <= kRule.token_cap;
      EXPECT_TRUE(within || pack.size() == 1) << units << " units, " << tokens << " tokens";
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

TEST(IsfTest, DependsOnTheSeedAlone) {
  const std::vector<SampleLength> samples = SomeSamples(1, 300);
  IsfRule other = kRule;
  other.seed = 4;
  EXPECT_EQ(PackByIsf(samples, kRule), PackByIsf(samples, kRule));
  EXPECT_NE(PackByIsf(samples, kRule), PackByIsf(samples, other));
}

TEST(IsfTest, OversizeSamplesTravelAlone) {
  const std::vector<SampleLength> samples = {{1, 10}, {10, 10}, {1, 5000}, {1, 20}};
  const auto packs = PackByIsf(samples, kRule);
  ASSERT_EQ(packs.size(), 3u);
  EXPECT_EQ(packs[0], std::vector<int32_t>{1});
  EXPECT_EQ(packs[1], std::vector<int32_t>{2});
  EXPECT_EQ(packs[2].size(), 2u);
}

TEST(IsfTest, LastOversizeSampleLosesNoOther) {
  const std::vector<SampleLength> samples = {{1, 10}, {99, 10}};
  EXPECT_EQ(PackByIsf(samples, kRule).size(), 2u);
  EXPECT_TRUE(PackByIsf({}, kRule).empty());
}

TEST(IsfTest, TextAloneHasNoUnitsToKeepFor) {
  // With unit caps of 0, no pack counts as full for its units.
  const std::vector<SampleLength> samples(64, SampleLength{0, 1000});
  const auto packs = PackByIsf(samples, {0, 4096, 0, 3968, 10, 1});
  EXPECT_EQ(packs.size(), 16u);
}

TEST(IsfTest, MoreIterationsPackTighter) {
  const std::vector<SampleLength> samples = SomeSamples(5, 4000);
  IsfRule once = kRule, often = kRule;
  once.iterations = 0, often.iterations = 20;
  EXPECT_LT(PackByIsf(samples, often).size(), PackByIsf(samples, once).size());
}

}  // namespace
}  // namespace evenkeel::planner
