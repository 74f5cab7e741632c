#include "planner/packing/isf.h"

#include <gtest/gtest.h>

#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

constexpr Caps kCaps{9, 4096};
constexpr IsfRule kRule{9, 3968, 10, 3};

struct IsfSamples {
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

IsfSamples SomeIsfSamples(uint64_t seed, size_t count) {
  Random random(seed);
  IsfSamples samples;
  for (size_t i = 0; i < count; ++i) {
    samples.units.push_back(static_cast<int32_t>(random.Below(10)));
    samples.tokens.push_back(static_cast<int32_t>(random.Below(4096)) + 1);
  }
  return samples;
}

TEST(IsfTest, DependsOnTheSeedAlone) {
  const IsfSamples samples = SomeIsfSamples(1, 300);
  IsfRule other = kRule;
  other.seed = 4;
  const Packing packing = PackByIsf(samples.lengths(), kCaps, kRule);
  EXPECT_EQ(packing.members, PackByIsf(samples.lengths(), kCaps, kRule).members);
  EXPECT_NE(packing.members, PackByIsf(samples.lengths(), kCaps, other).members);
}

TEST(IsfTest, WithoutIterationsPacksAreCutInOrder) {
  IsfSamples samples{{1, 5, 4, 3, 0}, {10, 10, 10, 4000, 96}};
  IsfRule rule = kRule;
  rule.iterations = 0;
  const Packing packing = PackByIsf(samples.lengths(), kCaps, rule);
  EXPECT_EQ(packing.members, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 2, 4, 5}));
}

TEST(IsfTest, TextAloneHasNoUnitsToKeepFor) {
  // With unit caps of 0, no pack counts as full because of its units.
  const IsfSamples samples{std::vector<int32_t>(64, 0), std::vector<int32_t>(64, 1000)};
  EXPECT_EQ(PackByIsf(samples.lengths(), {0, 4096}, {0, 3968, 10, 1}).size(), 16u);
}

TEST(IsfTest, KeptPacksComeFirst) {
  // Two samples fill a pack to the keep threshold, and one is left over.
  const IsfSamples samples{{0, 0, 0}, {2000, 2000, 2000}};
  const Packing packing = PackByIsf(samples.lengths(), kCaps, {0, 3968, 10, 1});
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 2, 3}));
}

TEST(IsfTest, MoreIterationsPackTighter) {
  const IsfSamples samples = SomeIsfSamples(5, 4000);
  IsfRule once = kRule, often = kRule;
  once.iterations = 0, often.iterations = 20;
  EXPECT_LT(PackByIsf(samples.lengths(), kCaps, often).size(),
            PackByIsf(samples.lengths(), kCaps, once).size());
}

}  // namespace
}  // namespace evenkeel::planner
