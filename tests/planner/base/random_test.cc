#include "planner/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

TEST(RandomTest, FollowsThePublishedSequenceOfSplitMix64) {
  Random random(1234567);
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(random.Next(), expected);
  }
}

TEST(RandomTest, ShuffleKeepsEveryItemAndDependsOnTheSeedAlone) {
  std::vector<int> a(100);
  std::iota(a.begin(), a.end(), 0);
  std::vector<int> b = a, c = a;
  const std::vector<int> sorted = a;
  Random(7).Shuffle(a);
  Random(7).Shuffle(b);
  Random(8).Shuffle(c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, sorted);
  std::sort(a.begin(), a.end());
  EXPECT_EQ(a, sorted);
}

TEST(IntegersTest, RoundsAndCaps) {
  EXPECT_EQ(CeilDivide(0, 7), 0);
  EXPECT_EQ(CeilDivide(14, 7), 2);
  EXPECT_EQ(CeilDivide(15, 7), 3);
  EXPECT_EQ(RoundUp(15, 16), 16);
  EXPECT_EQ(RoundUp(16, 16), 16);
  EXPECT_EQ(Nearest(2.4), 2);
  EXPECT_EQ(Nearest(2.5), 3);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(CappedProduct(3, 4), 12);
  EXPECT_EQ(CappedProduct(0, kMost), 0);
  EXPECT_EQ(CappedProduct(kMost, 1), kMost);
  EXPECT_EQ(CappedProduct(kMost / 2 + 1, 2), kMost);
}

}  // namespace
}  // namespace evenkeel::planner
