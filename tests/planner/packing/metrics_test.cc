#include "planner/packing/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

// Units, tokens, squared. The work of the two parts is units and tokens.
const std::vector<PackSums> kSums = {
    {4, 100, 10}, {2, 80, 10}, {0, 60, 40}, {0, 60, 20}, {9, 99, 9}};

std::vector<PackWork> WorkLike(const std::vector<PackSums>& sums) {
  std::vector<PackWork> work;
  for (const PackSums& s : sums) {
    work.push_back({static_cast<int32_t>(s.units), static_cast<int32_t>(s.tokens)});
  }
  return work;
}

TEST(BalanceTest, IsWhatTheDefinitionSays) {
  const std::vector<int64_t> order = {0, 1, 2, 3, 4, -1};  // 3 steps, 2 ranks, 1 pack each
  const Balance b = BalanceOf(kSums, WorkLike(kSums), order, 2, 1);
  EXPECT_EQ(b.steps, 3);
  EXPECT_EQ(b.holed_steps, 1);
  EXPECT_DOUBLE_EQ(b.dist_ratio_units, (4 - 2) / (4 * 2.0));  // the second step has no units
  EXPECT_DOUBLE_EQ(b.dist_ratio_tokens, (20 / 200.0 + 0) / 2);
  EXPECT_DOUBLE_EQ(b.dist_ratio_attention, (0 + 20 / 80.0) / 2);
  EXPECT_DOUBLE_EQ(b.dist_ratio_vision_time, b.dist_ratio_units);
  EXPECT_DOUBLE_EQ(b.dist_ratio_language_time, b.dist_ratio_tokens);
  EXPECT_DOUBLE_EQ(b.idle, (104 - 93 + 0) / (104 + 60.0));
}

TEST(BalanceTest, TotalsOfARankAreOverItsMicroBatches) {
  const std::vector<int64_t> order = {0, 3, 1, 1};
  const Balance b = BalanceOf(kSums, WorkLike(kSums), order, 2, 2);
  EXPECT_EQ(b.dist_ratio_units, 0);
  EXPECT_EQ(b.dist_ratio_tokens, 0);
}

TEST(BalanceTest, AStepThatLacksPacksButNoRankCounts) {
  const std::vector<int64_t> order = {0, 1, 2, -1};
  const Balance b = BalanceOf(kSums, WorkLike(kSums), order, 2, 2);
  EXPECT_EQ(b.holed_steps, 0);
  EXPECT_DOUBLE_EQ(b.dist_ratio_tokens, 120 / 360.0);
}

TEST(BalanceTest, NothingButAHoledStepIsEven) {
  const std::vector<int64_t> order = {0, -1, -1};
  const Balance b = BalanceOf(kSums, WorkLike(kSums), order, 3, 1);
  EXPECT_EQ(b.holed_steps, 1);
  EXPECT_EQ(b.dist_ratio_tokens, 0);
  EXPECT_EQ(b.idle, 0);
  EXPECT_EQ(b.step_spread, 0);
}

TEST(BalanceTest, NothingAtAll) {
  const Balance b = BalanceOf({}, {}, {}, 3, 1);
  EXPECT_EQ(b.steps, 0);
  EXPECT_EQ(b.idle, 0);
}

TEST(BalanceTest, TellsRandomFromGroupedAndRising) {
  constexpr size_t kPacks = 8000, kStep = 8;
  std::vector<PackSums> sums(kPacks);
  for (size_t i = 0; i < kPacks; ++i) sums[i].tokens = 3000 + static_cast<int64_t>(i);
  const std::vector<PackWork> work = WorkLike(sums);
  std::vector<int64_t> order(kPacks);
  std::iota(order.begin(), order.end(), 0);
  const Balance rising = BalanceOf(sums, work, order, kStep, 1);
  EXPECT_NEAR(rising.step_spread, kStep, 0.05);
  EXPECT_NEAR(rising.step_trend, 1, 1e-9);

  std::vector<int64_t> steps(kPacks / kStep), grouped;
  std::iota(steps.begin(), steps.end(), 0);
  Random random(1);
  random.Shuffle(steps);
  for (const int64_t s : steps) {
    for (int64_t i = 0; i < 8; ++i) grouped.push_back(s * 8 + i);
  }
  const Balance shuffled_steps = BalanceOf(sums, work, grouped, kStep, 1);
  EXPECT_NEAR(shuffled_steps.step_spread, kStep, 0.05);
  EXPECT_NEAR(shuffled_steps.step_trend, 0, 0.1);

  random.Shuffle(order);
  const Balance shuffled = BalanceOf(sums, work, order, kStep, 1);
  EXPECT_NEAR(shuffled.step_spread, 1, 0.15);
  EXPECT_NEAR(shuffled.step_trend, 0, 0.1);
}

}  // namespace
}  // namespace evenkeel::planner
