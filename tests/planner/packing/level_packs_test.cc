#include "planner/packing/level_packs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/balanced.h"
#include "planner/packing/caps.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/packer.h"
#include "tests/planner/packing/native_sizes.h"

namespace evenkeel::planner {
namespace {

constexpr size_t kSamples = 20'000;

// Checks a packing, and returns its packs over the proven bound.
double OverTheBound(const Lengths& lengths, const Caps& caps) {
  const Packing packing = Pack(lengths, {.packer = Packer::kBalanced, .caps = caps});
  std::vector<int> seen(lengths.size());
  for (const uint32_t i : packing.members) ++seen[i];
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  const std::vector<PackSums> sums = SumsOf(lengths, packing);
  for (size_t p = 0; p < packing.size(); ++p)
    EXPECT_TRUE(caps.Hold(sums[p].units, sums[p].tokens) || packing[p].size() == 1);
  const PackBound bound = LowerBound(SortByType(lengths).types, caps);
  return static_cast<double>(packing.size()) / static_cast<double>(bound.packs);
}

Caps EvenCaps(const Lengths& lengths, int64_t tokens, int64_t percent) {
  const auto sum = [](std::span<const int32_t> values) {
    return std::accumulate(values.begin(), values.end(), int64_t{0});
  };
  return {sum(lengths.units) * tokens * percent / (100 * sum(lengths.tokens)), tokens};
}

TEST(LevelPacksTest, NativeSizesAreWithinAFifthOfAPercentOfTheBound) {
  for (const bool audio : {false, true}) {
    const NativeSizes sizes = DrawNativeSizes(kSamples, audio, 1);
    const Lengths lengths = sizes.lengths();
    EXPECT_GT(std::set<int32_t>(sizes.units.begin(), sizes.units.end()).size(), 300u);
    const Caps derived = CapsRule(SortByType(lengths).types, {}).Balanced().caps;
    for (const Caps& caps : {derived, EvenCaps(lengths, 8192, 110), EvenCaps(lengths, 16384, 100),
                             EvenCaps(lengths, 16384, 90)}) {
      EXPECT_LE(OverTheBound(lengths, caps), 1.002)
          << audio << ": " << caps.units << ", " << caps.tokens;
    }
  }
}

// Packs of two to four samples on average.
TEST(LevelPacksTest, PacksOfFewSamplesAreNearTheBound) {
  const NativeSizes sizes = DrawNativeSizes(kSamples, false, 1);
  const Lengths lengths = sizes.lengths();
  struct {
    Caps caps;
    double over;
  } const cases[] = {{{4388, 1989}, 1.003}, {{4826, 1989}, 1.002}, {{5907, 5356}, 1.003}};
  for (const auto& [caps, over] : cases)
    EXPECT_LE(OverTheBound(lengths, caps), over) << caps.units << ", " << caps.tokens;
}

// Packs that are filled to their cap in one column are still level in the others.
TEST(LevelPacksTest, PacksAreLevelInEveryColumn) {
  const NativeSizes sizes = DrawNativeSizes(kSamples, true, 2);
  const Lengths lengths = sizes.lengths();
  const Caps caps = EvenCaps(lengths, 16384, 105);
  const Packing packing = PackBalanced(lengths, caps);
  const std::vector<PackSums> sums = SumsOf(lengths, packing);
  const auto deviation = [&](const auto& value) {
    double mean = 0, off = 0;
    for (const PackSums& s : sums) mean += static_cast<double>(value(s));
    mean /= static_cast<double>(sums.size());
    for (const PackSums& s : sums) off += std::abs(static_cast<double>(value(s)) - mean);
    return off / mean / static_cast<double>(sums.size());
  };
  EXPECT_LE(deviation([](const PackSums& s) { return s.tokens; }), .01);
  EXPECT_LE(deviation([](const PackSums& s) { return s.encoder_units[0]; }), .02);
  EXPECT_LE(deviation([](const PackSums& s) { return s.encoder_units[1]; }), .05);
}

TEST(LevelPacksTest, DoesNotDependOnTheOrderOfSamples) {
  const NativeSizes sizes = DrawNativeSizes(5000, false, 3);
  std::vector<uint32_t> order(sizes.tokens.size());
  std::iota(order.begin(), order.end(), 0u);
  Random(3).Shuffle(order);
  NativeSizes shuffled;
  for (const uint32_t i : order) {
    shuffled.units.push_back(sizes.units[i]);
    shuffled.tokens.push_back(sizes.tokens[i]);
  }
  const Caps caps = EvenCaps(sizes.lengths(), 8192, 100);
  const auto contents = [&](const Lengths& lengths) {
    std::multiset<std::vector<std::pair<int32_t, int32_t>>> all;
    const Packing packing = PackBalanced(lengths, caps);
    for (size_t p = 0; p < packing.size(); ++p) {
      std::vector<std::pair<int32_t, int32_t>> pack;
      for (const uint32_t i : packing[p]) pack.emplace_back(lengths.units[i], lengths.tokens[i]);
      std::sort(pack.begin(), pack.end());
      all.insert(std::move(pack));
    }
    return all;
  };
  EXPECT_EQ(contents(sizes.lengths()), contents(shuffled.lengths()));
}

// The bound of a part holds for all samples, and packs of two copies are at most twice as many.
TEST(LevelPacksTest, MoreSamplesNeedNoFewerPacks) {
  Random random(5);
  for (uint64_t seed = 10; seed < 16; ++seed) {
    NativeSizes sizes = DrawNativeSizes(300 + random.Below(1500), false, seed);
    const Caps caps = EvenCaps(sizes.lengths(), 9000, 85 + 5 * static_cast<int64_t>(seed - 10));
    const int64_t packs = static_cast<int64_t>(PackBalanced(sizes.lengths(), caps).size());
    const int64_t bound = LowerBound(SortByType(sizes.lengths()).types, caps).packs;
    EXPECT_LE(bound, packs);
    NativeSizes more = sizes;
    more.units.push_back(1000);
    more.tokens.push_back(800);
    EXPECT_LE(bound, LowerBound(SortByType(more.lengths()).types, caps).packs);
    EXPECT_LE(bound, static_cast<int64_t>(PackBalanced(more.lengths(), caps).size()));
    NativeSizes twice = sizes;
    twice.units.insert(twice.units.end(), sizes.units.begin(), sizes.units.end());
    twice.tokens.insert(twice.tokens.end(), sizes.tokens.begin(), sizes.tokens.end());
    EXPECT_LE(static_cast<int64_t>(PackBalanced(twice.lengths(), caps).size()), 2 * packs);
    EXPECT_LE(LowerBound(SortByType(twice.lengths()).types, caps).packs, 2 * packs);
    EXPECT_GE(LowerBound(SortByType(twice.lengths()).types, caps).packs, 2 * bound - 1);
  }
}

}  // namespace
}  // namespace evenkeel::planner
