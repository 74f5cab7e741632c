#include "tests/baselines/timed_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/packing/pack_time.h"
#include "tests/planner/packing/long_sets.h"

namespace evenkeel::planner {
namespace {

const DealRule kFourRanks{.ranks = 4, .packs_per_rank = 2, .seed = 3};

PackTimes TimesOfText() { return {0, 7.7e-5, 1.9e-9, 0}; }

TEST(TimedBatchesTest, EverySampleIsInOneMicroBatchUnderTheCap) {
  const LongSet set = LongText(5000);
  const TimedBatches made =
      DelayOutliers(set.lengths(), set.caps.tokens, TimesOfText(), kFourRanks);
  std::vector<uint32_t> members = made.packing.members;
  std::sort(members.begin(), members.end());
  ASSERT_EQ(members.size(), set.tokens.size());
  for (uint32_t i = 0; i < members.size(); ++i) EXPECT_EQ(members[i], i);
  for (const PackSums& sum : SumsOf(set.lengths(), made.packing))
    EXPECT_LE(sum.tokens, set.caps.tokens);
  EXPECT_EQ(made.batches, static_cast<int64_t>(made.packing.size()));
  EXPECT_EQ(made.order.size(), static_cast<size_t>(made.steps * 8));
  EXPECT_EQ(std::count(made.order.begin(), made.order.end(), -1), made.steps * 8 - made.batches);
}

TEST(TimedBatchesTest, EqualSamplesAreLevelAndWaitForNothing) {
  const LongSet set{
      "equal", std::vector<int32_t>(8000), std::vector<int32_t>(8000, 100), {0, 1000}};
  const TimedBatches made = DelayOutliers(set.lengths(), 1000, TimesOfText(), kFourRanks);
  EXPECT_EQ(made.longest_delay, 0);
  EXPECT_LT(made.idle, .06);  // 76 samples to 8 micro-batches
}

TEST(TimedBatchesTest, OutliersWaitUntilEveryMicroBatchGetsOne) {
  const LongSet set = LongText(60000);
  const TimedBatches made =
      DelayOutliers(set.lengths(), set.caps.tokens, TimesOfText(), kFourRanks);
  EXPECT_GT(made.longest_delay, 0);
  EXPECT_LT(made.idle, .15);
}

TEST(TimedBatchesTest, FlexSpRunsWavesOfLikeSamples) {
  const LongSet set = LongText(20000);
  const TimedBatches made =
      DivideFlexibly(set.lengths(), set.caps.tokens, TimesOfText(), kFourRanks);
  EXPECT_GT(made.steps, 0);
  EXPECT_GT(made.idle, 0);
  EXPECT_LT(made.idle, 1);
}

}  // namespace
}  // namespace evenkeel::planner
