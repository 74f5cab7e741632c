#include "planner/packing/balanced.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "planner/base/random.h"
#include "planner/catalog/default_dataset.h"
#include "planner/packing/first_fit.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/sample.h"

namespace evenkeel::planner {
namespace {

DrawnSamples Shipped() { return DrawSamples(DefaultVisionLanguageDataset(), int64_t{1} << 40); }

struct Fullness {
  int64_t packs = 0, bound = 0;
  bool proven() const {
    return packs <= std::max(bound + 1, static_cast<int64_t>(1.001 * static_cast<double>(bound)));
  }
};

Fullness Pack(const DrawnSamples& samples, const Caps& caps) {
  const Packing packing = PackBalanced(samples.lengths(), caps);
  std::vector<int> seen(samples.tokens.size());
  for (const uint32_t i : packing.members) ++seen[i];
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  for (const PackSums& sums : SumsOf(samples.lengths(), packing))
    EXPECT_TRUE(caps.Hold(sums.units, sums.tokens));
  const SortedSamples sorted = SortByType(samples.lengths());
  return {static_cast<int64_t>(packing.size()), LowerBound(sorted.types, caps).packs};
}

TEST(BalancedTest, MeetsTheBoundOnRealLengths) {
  const DrawnSamples samples = Shipped();
  for (const Caps& caps : {Caps{9, 4096}, Caps{10, 4096}, Caps{13, 4416}, Caps{18, 6016},
                           Caps{20, 6656}, Caps{38, 11392}}) {
    const Fullness f = Pack(samples, caps);
    EXPECT_TRUE(f.proven()) << caps.units << ": " << f.packs << " over " << f.bound;
  }
}

TEST(BalancedTest, DoesNotDependOnTheOrderOfSamples) {
  DrawnSamples samples = Shipped();
  const size_t packs = PackBalanced(samples.lengths(), {18, 6016}).size();
  std::vector<uint32_t> order(samples.tokens.size());
  std::iota(order.begin(), order.end(), 0u);
  Random(3).Shuffle(order);
  DrawnSamples shuffled;
  for (const uint32_t i : order) {
    shuffled.units.push_back(samples.units[i]);
    shuffled.tokens.push_back(samples.tokens[i]);
  }
  const Packing packing = PackBalanced(shuffled.lengths(), {18, 6016});
  EXPECT_EQ(packing.size(), packs);
}

// Packs long tails of text, samples of one tile each, documents of forty tiles, and equal samples.
TEST(BalancedTest, HostileSets) {
  Random random(7);
  const auto text = [&](int64_t most) {
    return static_cast<int32_t>(std::min<uint64_t>(
        static_cast<uint64_t>(most),
        32 + (uint64_t{1} << (24 + random.Below(8))) / (1 + random.Below(1 << 20))));
  };
  struct Set {
    const char* name;
    DrawnSamples samples;
    Caps caps;
  };
  std::vector<Set> sets(5);
  sets[0] = {"text to 128K", {}, {0, 131072}};
  sets[1] = {"one tile", {}, {9, 4096}};
  sets[2] = {"documents", {}, {80, 24576}};
  sets[3] = {"all equal", {}, {9, 4096}};
  sets[4] = {"text among tiles", {}, {40, 12288}};
  for (int i = 0; i < 6000; ++i) {
    const auto add = [&](Set& set, int32_t units, int32_t tokens) {
      set.samples.units.push_back(units);
      set.samples.tokens.push_back(tokens);
    };
    add(sets[0], 0, text(131072));
    add(sets[1], 1, 256 + text(400));
    const int32_t units = 1 + static_cast<int32_t>(random.Below(40));
    add(sets[2], units, 256 * units + text(600));
    add(sets[3], 4, 1100);
    const bool only_text = random.Below(4) == 0;
    add(sets[4], only_text ? 0 : 3, only_text ? text(4096) : 768 + text(300));
  }
  for (const Set& set : sets) {
    const Fullness f = Pack(set.samples, set.caps);
    EXPECT_LE(f.packs, static_cast<int64_t>(1.005 * static_cast<double>(f.bound)) + 1) << set.name;
  }
}

TEST(BalancedTest, FastIsNearlyAsGood) {
  const DrawnSamples samples = DrawSamples(DefaultVisionLanguageDataset(), 20000);
  for (const Caps& caps : {Caps{9, 4096}, Caps{13, 4416}, Caps{14, 4096}, Caps{20, 6656}}) {
    const size_t fast = PackBalanced(samples.lengths(), caps, PackEffort::kFast).size();
    const size_t thorough = PackBalanced(samples.lengths(), caps).size();
    EXPECT_LE(thorough, fast);
    EXPECT_LE(static_cast<double>(fast), 1.006 * static_cast<double>(thorough)) << caps.units;
  }
}

// Many texts fill packs to the cap in simple ways, unless all of them are long.
TEST(BalancedTest, LargeSetsOfTextAreFirstFitWhereThatIsFull) {
  Random random(5);
  DrawnSamples texts, halves;
  for (int i = 0; i < 120000; ++i) {
    texts.units.push_back(0);
    halves.units.push_back(0);
    const auto tokens =
        static_cast<int32_t>(16 + random.Below(uint64_t{1} << (4 + random.Below(9))));
    texts.tokens.push_back(tokens);
    halves.tokens.push_back(4097 + static_cast<int32_t>(random.Below(4000)));
  }
  const Caps caps{0, 8192};
  EXPECT_TRUE(Pack(texts, caps).proven());
  EXPECT_EQ(PackBalanced(texts.lengths(), caps).members,
            PackFirstFit(texts.lengths(), caps, TypeOrder::kTokens).members);
  EXPECT_EQ(Pack(halves, caps).packs, 120000);
}

TEST(BalancedTest, NothingAndOne) {
  EXPECT_EQ(PackBalanced({}, {9, 4096}).size(), 0u);
  const std::vector<int32_t> units{3}, tokens{900};
  EXPECT_EQ(PackBalanced({units, tokens}, {9, 4096}).size(), 1u);
  EXPECT_EQ(PackBalanced({units, tokens}, {3, 900}).size(), 1u);
}

}  // namespace
}  // namespace evenkeel::planner
