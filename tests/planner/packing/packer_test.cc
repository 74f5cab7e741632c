#include "planner/packing/packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

struct PackerSamples {
  std::vector<int32_t> units, tokens;
  void Add(int32_t u, int32_t t, size_t count = 1) {
    units.resize(units.size() + count, u);
    tokens.resize(tokens.size() + count, t);
  }
  Lengths lengths() const { return {units, tokens}; }
};

PackerSamples SomeSamples(uint64_t seed, size_t count, int32_t most_units, int32_t most_tokens) {
  Random random(seed);
  PackerSamples samples;
  for (size_t i = 0; i < count; ++i)
    samples.Add(static_cast<int32_t>(random.Below(static_cast<uint64_t>(most_units) + 1)),
                static_cast<int32_t>(random.Below(static_cast<uint64_t>(most_tokens))) + 1);
  return samples;
}

PackRule RuleOf(Packer packer, Caps caps = {9, 4096}) {
  PackRule rule;
  rule.packer = packer;
  rule.caps = caps;
  rule.keep_units = caps.units;
  rule.keep_tokens = caps.tokens - 128;
  rule.seed = 3;
  return rule;
}

// Checks that every sample occurs once, that packs are within the caps except for lone oversize
// samples, and that the oversize lists are complete.
void ExpectSound(const PackerSamples& samples, const PackRule& rule, const Packing& packing) {
  ASSERT_EQ(packing.offsets.front(), 0);
  ASSERT_EQ(packing.offsets.back(), static_cast<int64_t>(packing.members.size()));
  std::vector<int> seen(samples.tokens.size());
  for (size_t i = 0; i < packing.size(); ++i) {
    ASSERT_LT(packing.offsets[i], packing.offsets[i + 1]);
    int64_t units = 0, tokens = 0;
    for (const uint32_t sample : packing[i]) {
      ++seen[sample];
      units += samples.units[sample];
      tokens += samples.tokens[sample];
    }
    if (rule.caps.Hold(units, tokens)) continue;
    ASSERT_EQ(packing[i].size(), 1u);
    EXPECT_TRUE(
        std::binary_search(packing.oversize.begin(), packing.oversize.end(), packing[i][0]));
  }
  for (const uint32_t sample : packing.rejected) ++seen[sample];
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  std::vector<uint32_t> oversize;
  for (uint32_t i = 0; i < samples.tokens.size(); ++i)
    if (!rule.caps.Hold(samples.units[i], samples.tokens[i])) oversize.push_back(i);
  EXPECT_EQ(packing.oversize, oversize);
}

class PackerTest : public testing::TestWithParam<Packer> {};

TEST_P(PackerTest, HoldsTheCapsAndLosesNothing) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    // Some samples are oversize. The last rounds are text only.
    const PackerSamples samples = SomeSamples(seed, 300 + seed * 97, seed < 8 ? 11 : 0, 4500);
    for (const OversizePolicy policy : {OversizePolicy::kAlone, OversizePolicy::kReject}) {
      PackRule rule = RuleOf(GetParam(), seed < 8 ? Caps{9, 4096} : Caps{0, 4096});
      rule.oversize = policy;
      const Packing packing = Pack(samples.lengths(), rule);
      ExpectSound(samples, rule, packing);
      EXPECT_EQ(packing.rejected,
                policy == OversizePolicy::kReject ? packing.oversize : std::vector<uint32_t>{});
    }
  }
}

TEST_P(PackerTest, NothingAndOneSample) {
  const PackRule rule = RuleOf(GetParam());
  const Packing none = Pack({}, rule);
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.offsets, std::vector<int64_t>{0});
  PackerSamples one;
  one.Add(9, 4096);
  EXPECT_EQ(Pack(one.lengths(), rule).size(), 1u);
}

TEST_P(PackerTest, AllEqual) {
  PackerSamples samples;
  samples.Add(2, 1000, 1003);
  const PackRule rule = RuleOf(GetParam());
  const Packing packing = Pack(samples.lengths(), rule);
  ExpectSound(samples, rule, packing);
  EXPECT_EQ(packing.size(), 251u);  // 4 in each pack, by units and by tokens
}

TEST_P(PackerTest, UnitsBindWhereTokensDoNot) {
  PackerSamples samples;
  samples.Add(5, 100, 40);
  samples.Add(4, 100, 40);
  EXPECT_EQ(Pack(samples.lengths(), RuleOf(Packer::kBalanced)).size(), 40u);
  EXPECT_LE(Pack(samples.lengths(), RuleOf(GetParam())).size(), 60u);
  EXPECT_GE(Pack(samples.lengths(), RuleOf(GetParam())).size(), 40u);
}

TEST_P(PackerTest, SameEveryTime) {
  const PackerSamples samples = SomeSamples(1, 500, 10, 4200);
  const Packing a = Pack(samples.lengths(), RuleOf(GetParam()));
  const Packing b = Pack(samples.lengths(), RuleOf(GetParam()));
  EXPECT_EQ(a.members, b.members);
  EXPECT_EQ(a.offsets, b.offsets);
}

TEST_P(PackerTest, OversizeSamplesTravelAloneAfterTheOthers) {
  PackerSamples samples;
  samples.Add(1, 10);
  samples.Add(10, 10);
  samples.Add(1, 5000);
  samples.Add(1, 20);
  const Packing packing = Pack(samples.lengths(), RuleOf(GetParam()));
  ASSERT_EQ(packing.size(), 3u);
  EXPECT_EQ(packing[0].size(), 2u);
  EXPECT_EQ(packing[1][0], 1u);
  EXPECT_EQ(packing[2][0], 2u);
  EXPECT_EQ(packing.oversize, (std::vector<uint32_t>{1, 2}));
}

TEST_P(PackerTest, NothingButOversizeSamples) {
  PackerSamples samples;
  samples.Add(10, 10, 3);
  PackRule rule = RuleOf(GetParam());
  EXPECT_EQ(Pack(samples.lengths(), rule).size(), 3u);
  rule.oversize = OversizePolicy::kReject;
  const Packing packing = Pack(samples.lengths(), rule);
  EXPECT_EQ(packing.size(), 0u);
  EXPECT_EQ(packing.rejected, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_P(PackerTest, PartsApartAreWhatTheyWouldBeAlone) {
  const PackerSamples first = SomeSamples(1, 211, 10, 4200), second = SomeSamples(2, 87, 0, 2000);
  PackerSamples both = first;
  both.units.insert(both.units.end(), second.units.begin(), second.units.end());
  both.tokens.insert(both.tokens.end(), second.tokens.begin(), second.tokens.end());
  PackRule rule = RuleOf(GetParam());
  const Packing a = Pack(first.lengths(), rule), b = Pack(second.lengths(), rule);
  rule.apart = {211, 0, 87};
  const Packing packing = Pack(both.lengths(), rule);
  ExpectSound(both, rule, packing);
  ASSERT_EQ(packing.size(), a.size() + b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(std::equal(a[i].begin(), a[i].end(), packing[i].begin(), packing[i].end()));
  for (size_t i = 0; i < b.size(); ++i) {
    const std::span<const uint32_t> pack = packing[a.size() + i];
    EXPECT_TRUE(std::equal(b[i].begin(), b[i].end(), pack.begin(), pack.end(),
                           [](uint32_t x, uint32_t y) { return x + 211 == y; }));
  }
  // The order of the parts' packs is kept, and so is that of oversize samples.
  EXPECT_TRUE(std::is_sorted(packing.oversize.begin(), packing.oversize.end()));
}

INSTANTIATE_TEST_SUITE_P(All, PackerTest,
                         testing::Values(Packer::kBalanced, Packer::kIsf,
                                         Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing,
                                         Packer::kGreedyKnapsack, Packer::kNextFit),
                         [](const auto& packer) { return std::string(PackerName(packer.param)); });

TEST(PackersTest, NamesDiffer) {
  std::set<std::string> names;
  for (const Packer packer :
       {Packer::kBalanced, Packer::kIsf, Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing,
        Packer::kGreedyKnapsack, Packer::kNextFit})
    names.insert(PackerName(packer));
  EXPECT_EQ(names.size(), 6u);
}

TEST(PackersTest, GreedyPackersOnASmallCase) {
  // By tokens: 3000 + 1000, 2500 + 1500, 2000.
  PackerSamples samples;
  for (const int32_t tokens : {1000, 3000, 1500, 2500, 2000}) samples.Add(1, tokens);
  for (const Packer packer :
       {Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing, Packer::kGreedyKnapsack}) {
    const Packing packing = Pack(samples.lengths(), RuleOf(packer, {9, 4000}));
    EXPECT_EQ(packing.size(), 3u) << PackerName(packer);
  }
  const Packing packing = Pack(samples.lengths(), RuleOf(Packer::kGreedyKnapsack, {9, 4000}));
  EXPECT_EQ(packing.members, (std::vector<uint32_t>{1, 0, 3, 2, 4}));
}

TEST(PackersTest, FirstFitGoesByTheScarcerCapAndTheKnapsackByTokens) {
  // 5 of 5 units and 10 of 100 tokens is larger than 0 units and 90 tokens by share, not by tokens.
  PackerSamples samples;
  samples.Add(0, 90);
  samples.Add(5, 10);
  const Caps caps{5, 99};
  EXPECT_EQ(Pack(samples.lengths(), RuleOf(Packer::kFirstFitDecreasing, caps)).members[0], 1u);
  EXPECT_EQ(Pack(samples.lengths(), RuleOf(Packer::kGreedyKnapsack, caps)).members[0], 0u);
}

TEST(PackersTest, BestFitFillsTheFullestPack) {
  // The open packs are 60 and 50. Then 40 fits both, and best fit takes the fuller one.
  PackerSamples samples;
  for (const int32_t tokens : {60, 50, 40}) samples.Add(0, tokens);
  const Packing packing = Pack(samples.lengths(), RuleOf(Packer::kBestFitDecreasing, {0, 100}));
  ASSERT_EQ(packing.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    if (packing[i].size() == 2) {
      EXPECT_EQ(std::max(packing[i][0], packing[i][1]), 2u);
      EXPECT_EQ(std::min(packing[i][0], packing[i][1]), 0u);
    }
  }
}

TEST(PackersTest, OneGiantAmongMany) {
  PackerSamples samples;
  samples.Add(1, 300, 1000);
  samples.Add(40, 131072);
  for (const Packer packer : {Packer::kBalanced, Packer::kIsf, Packer::kFirstFitDecreasing}) {
    const PackRule rule = RuleOf(packer);
    const Packing packing = Pack(samples.lengths(), rule);
    ExpectSound(samples, rule, packing);
    EXPECT_EQ(packing[packing.size() - 1][0], 1000u);
  }
}

}  // namespace
}  // namespace evenkeel::planner
