#include "planner/packing/deal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/metrics.h"

namespace evenkeel::planner {
namespace {

using testing::ElementsAre;

enum class WorkKind { kEqual, kSpread, kHeavyTail, kTextAndImages, kGiant };

std::vector<PackWork> SomeWork(WorkKind kind, size_t packs, uint64_t seed) {
  Random random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int32_t>(random.Below(n)); };
  std::vector<PackWork> work(packs);
  for (PackWork& w : work) {
    switch (kind) {
      case WorkKind::kEqual:
        w = {7, 9};
        break;
      case WorkKind::kSpread:
        w = {below(1 << 30), below(1 << 30)};
        break;
      case WorkKind::kHeavyTail:
        w = {1 << below(30), 1 << below(30)};
        break;
      case WorkKind::kTextAndImages:
        w = {below(2) * (1 + below(12)) * 1000, 5000 + below(1000)};
        break;
      case WorkKind::kGiant:
        w = {1000, 1000 + below(10)};
    }
  }
  if (kind == WorkKind::kGiant && packs > 0) work[packs / 2] = {1 << 30, 1 << 30};
  return work;
}

std::vector<int64_t> Sorted(std::vector<int64_t> v) {
  std::sort(v.begin(), v.end());
  return v;
}

// Measures the balance, with units and tokens equal to the work.
Balance Measure(const std::vector<PackWork>& work, const DealRule& rule) {
  std::vector<PackSums> sums;
  for (const PackWork& w : work) sums.push_back({w.vision, w.language, 0, w.vision});
  return BalanceOf(sums, work, Deal(work, rule), rule.ranks, rule.packs_per_rank);
}

TEST(WorkTest, KeepsThirtyBitsOfAnyUnitOfTime) {
  const std::vector<PackSums> sums = {{9, 4096, 0, 9}, {0, 1024, 0, 0}, {3, 1, 0, 3}};
  const std::vector<PackWork> plain = WorkOf(sums, {});
  EXPECT_EQ(plain[0].language, 1 << 29);
  EXPECT_EQ(plain[1].language, 1 << 27);
  EXPECT_EQ(plain[0].vision, 9 << 17);
  EXPECT_EQ(plain[1].vision, 0);
  const std::vector<PackWork> tiny = WorkOf(sums, {1e-30, 1e-30, 0, 0});
  EXPECT_NEAR(tiny[0].vision, tiny[0].language * 9.0 / 4096, 1);
  EXPECT_GT(tiny[0].language, 1 << 28);
}

TEST(WorkTest, CountsDummyUnitsAndAttention) {
  const std::vector<PackSums> sums = {{0, 100, 6000, 0}, {4, 100, 1000, 4}};
  const std::vector<PackWork> work = WorkOf(sums, {8, 1, 0.5, 2});
  EXPECT_EQ(work[0].vision * 2, work[1].vision);
  EXPECT_EQ(work[0].language / 31, work[1].language / 6);
}

TEST(WorkTest, NothingTakesNoTime) {
  EXPECT_TRUE(WorkOf({}, {}).empty());
  const std::vector<PackSums> sums(2);
  EXPECT_EQ(WorkOf(sums, {})[1].language, 0);
}

TEST(DealTest, NoPacksMakeNoSteps) { EXPECT_TRUE(Deal({}, {.ranks = 8, .window = 0}).empty()); }

TEST(DealTest, TheBeginningIsThatOfTheWholeOrder) {
  for (const int64_t window : {0, 1, 3, 16}) {
    const std::vector<PackWork> work = SomeWork(WorkKind::kTextAndImages, 500, 5);
    const DealRule rule{.ranks = 4, .packs_per_rank = 3, .window = window, .seed = 9};
    const std::vector<int64_t> all = Deal(work, rule);
    for (const int64_t steps : {1, 7, 41, 42, 100}) {
      const std::vector<int64_t> first = DealBeginning(work, rule, steps);
      ASSERT_EQ(first.size(), std::min<size_t>(all.size(), static_cast<size_t>(steps * 12)));
      EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin())) << window << " " << steps;
    }
  }
}

TEST(DealTest, OnePackLeavesTheOtherRanksEmpty) {
  for (const int64_t window : {0, 1, 16}) {
    const std::vector<PackWork> work = {{1, 1}};
    EXPECT_EQ(Sorted(Deal(work, {.ranks = 3, .window = window})), Sorted({-1, -1, 0}));
  }
}

TEST(DealTest, LastStepGivesEveryRankOneBeforeAnyGetsTwo) {
  for (const int64_t packs : {1, 5, 8, 9, 15, 16, 17, 31}) {
    const auto work = SomeWork(WorkKind::kSpread, static_cast<size_t>(packs + 32), 1);
    const std::vector<int64_t> order = Deal(work, {.ranks = 8, .packs_per_rank = 4});
    ASSERT_EQ(order.size(), 64u);
    int64_t least = 4, most = 0;
    for (size_t rank = 0; rank < 8; ++rank) {
      const auto hand = order.begin() + 32 + static_cast<std::ptrdiff_t>(rank * 4);
      const int64_t count = std::count_if(hand, hand + 4, [](int64_t p) { return p >= 0; });
      EXPECT_TRUE(std::all_of(hand, hand + count, [](int64_t p) { return p >= 0; }));
      least = std::min(least, count), most = std::max(most, count);
    }
    EXPECT_LE(most - least, 1) << packs;
  }
}

TEST(DealTest, EpochsAndSeedsDiffer) {
  const auto work = SomeWork(WorkKind::kSpread, 1000, 2);
  for (const int64_t window : {0, 1, 4}) {
    const DealRule rule{.ranks = 4, .packs_per_rank = 2, .window = window, .seed = 5, .epoch = 1};
    DealRule epoch = rule, seed = rule;
    epoch.epoch = 2, seed.seed = 6;
    EXPECT_EQ(Deal(work, rule), Deal(work, rule));
    EXPECT_NE(Deal(work, rule), Deal(work, epoch));
    EXPECT_NE(Deal(work, rule), Deal(work, seed));
  }
}

// With window 1, two packs share a step as often as by chance, however similar they are. Over many
// epochs, the number of meetings of each kind of pair is binomial. The seeds are fixed, so the test
// does not flicker.
TEST(DealTest, WindowOneIsARandomDraw) {
  constexpr int64_t kPacks = 24, kStep = 6, kEpochs = 4000;
  std::vector<PackWork> work(kPacks);
  for (int32_t i = 0; i < kPacks; ++i) work[static_cast<size_t>(i)] = {i % 3, i};
  std::vector<std::vector<int64_t>> met(kPacks, std::vector<int64_t>(kPacks));
  std::vector<std::vector<int64_t>> at(kPacks, std::vector<int64_t>(kPacks / kStep));
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto order = Deal(work, {.ranks = 3, .packs_per_rank = 2, .seed = 9, .epoch = epoch});
    for (size_t i = 0; i < order.size(); ++i) {
      ++at[static_cast<size_t>(order[i])][i / kStep];
      for (size_t j = i / kStep * kStep; j < i; ++j) {
        ++met[static_cast<size_t>(std::min(order[i], order[j]))]
             [static_cast<size_t>(std::max(order[i], order[j]))];
      }
    }
  }
  const double pair = 5.0 / 23, deviation = std::sqrt(kEpochs * pair * (1 - pair));
  double squares = 0;
  for (size_t a = 0; a < kPacks; ++a) {
    for (size_t b = a + 1; b < kPacks; ++b) {
      const double z = (static_cast<double>(met[a][b]) - kEpochs * pair) / deviation;
      EXPECT_LT(std::abs(z), 4.5) << a << " and " << b;
      squares += z * z;
    }
    for (const int64_t times : at[a]) EXPECT_NEAR(static_cast<double>(times), kEpochs / 4, 125);
  }
  EXPECT_NEAR(squares / (kPacks * (kPacks - 1) / 2), 1, 0.25);
}

TEST(DealTest, RanksTakeTurnsWithTheLargestPack) {
  std::vector<PackWork> work(64);
  for (int32_t i = 0; i < 64; ++i) work[static_cast<size_t>(i)] = {1, 1 + i};
  for (const int64_t window : {0, 1}) {
    std::set<int64_t> ranks;
    for (int64_t epoch = 0; epoch < 60; ++epoch) {
      const auto order =
          Deal(work, {.ranks = 4, .packs_per_rank = 2, .window = window, .epoch = epoch});
      ranks.insert((std::find(order.begin(), order.end(), 63) - order.begin()) / 2 % 4);
    }
    EXPECT_EQ(ranks.size(), 4u);
  }
}

TEST(DealTest, SmallMicroBatchesAreAtTheEnds) {
  const auto work = SomeWork(WorkKind::kSpread, 320, 3);
  const auto time = [&](int64_t pack) {
    const PackWork& w = work[static_cast<size_t>(pack)];
    return int64_t{w.vision} + w.language;
  };
  const auto order = Deal(work, {.ranks = 4, .packs_per_rank = 5, .window = 4});
  for (size_t hand = 0; hand < order.size(); hand += 5) {
    EXPECT_LE(time(order[hand]), time(order[hand + 4]));
    EXPECT_LE(time(order[hand + 4]), time(order[hand + 1]));
    EXPECT_LE(time(order[hand + 1]), time(order[hand + 3]));
    EXPECT_LE(time(order[hand + 3]), time(order[hand + 2]));
  }
}

TEST(DealTest, GroupsHoldPacksOfLikeLength) {
  const auto work = SomeWork(WorkKind::kSpread, 64 * 5 + 13, 4);
  for (const int64_t group : {2, 4}) {
    const auto order = Deal(work, {.ranks = 8, .packs_per_rank = 8, .window = 1, .group = group});
    // Among the 64 packs of a step, the packs of a group are neighbours in length.
    for (size_t step = 0; step < 5; ++step) {
      const std::vector<int64_t> packs(order.begin() + static_cast<std::ptrdiff_t>(step * 64),
                                       order.begin() + static_cast<std::ptrdiff_t>(step * 64 + 64));
      std::vector<int64_t> by_length = packs;
      std::sort(by_length.begin(), by_length.end(), [&](int64_t a, int64_t b) {
        return work[static_cast<size_t>(a)].language > work[static_cast<size_t>(b)].language;
      });
      for (size_t i = 0; i < 64; ++i) {
        const auto place = std::find(by_length.begin(), by_length.end(), packs[i]);
        const auto first =
            std::find(by_length.begin(), by_length.end(),
                      packs[i / static_cast<size_t>(group) * static_cast<size_t>(group)]);
        EXPECT_EQ((place - by_length.begin()) / group, (first - by_length.begin()) / group);
      }
    }
  }
}

TEST(DealTest, WiderWindowsBalanceBothParts) {
  const auto work = SomeWork(WorkKind::kTextAndImages, 64 * 400, 5);
  double last_vision = 1, last_language = 1;
  for (const int64_t window : {1, 16, 100, 0}) {
    const Balance b = Measure(work, {.ranks = 64, .window = window});
    EXPECT_LT(b.dist_ratio_units, last_vision);
    EXPECT_LT(b.dist_ratio_tokens, last_language);
    last_vision = b.dist_ratio_units, last_language = b.dist_ratio_tokens;
  }
  EXPECT_LT(last_vision, 0.006);
  EXPECT_LT(last_language, 0.005);
}

TEST(DealTest, EqualPacksAreEvenInAnyOrder) {
  const auto work = SomeWork(WorkKind::kEqual, 500, 6);
  for (const int64_t window : {0, 1, 7}) {
    const Balance b = Measure(work, {.ranks = 5, .packs_per_rank = 4, .window = window});
    EXPECT_EQ(b.dist_ratio_units, 0);
    EXPECT_EQ(b.idle, 0);
  }
}

TEST(DealTest, AGiantGoesToTheHoledStepOfItsWindow) {
  const auto work = SomeWork(WorkKind::kGiant, 8 * 50 + 3, 7);
  const auto order = Deal(work, {.ranks = 8, .window = 0});
  const auto giant = std::find(order.begin(), order.end(), 201);
  EXPECT_GE(giant - order.begin(), 8 * 50);
  EXPECT_LT(Measure(work, {.ranks = 8, .window = 0}).dist_ratio_tokens, 0.001);
}

TEST(DealTest, PacksOfUnlikeSizeMakeEqualRanks) {
  // 1, 2, ..., 16 on 4 ranks of 4: 34 each.
  std::vector<PackWork> work;
  for (int32_t i = 1; i <= 16; ++i) work.push_back({17 - i, i});
  const Balance b = Measure(work, {.ranks = 4, .packs_per_rank = 4});
  EXPECT_EQ(b.dist_ratio_units, 0);
  EXPECT_EQ(b.dist_ratio_tokens, 0);
}

// tests/golden/step_order has more cases.
TEST(DealTest, KnownOrder) {
  const std::vector<PackWork> work = {{3, 10}, {1, 20}, {2, 30}, {3, 40},
                                      {1, 50}, {2, 60}, {9, 70}};
  EXPECT_THAT(Deal(work, {.ranks = 3}), ElementsAre(4, 3, 0, 1, 6, 5, -1, -1, 2));
}

}  // namespace
}  // namespace evenkeel::planner
