#include "planner/packing/time_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/packing/deal.h"
#include "planner/packing/pack_dataset.h"
#include "planner/packing/pack_time.h"
#include "tests/planner/packing/long_sets.h"

namespace evenkeel::planner {
namespace {

using testing::ElementsAre;

// An 8B model on one H100: squares of 40K tokens take as long as the rest.
constexpr double kPerToken = 7.7e-5, kPerSquared = 1.9e-9;

PackTimes LongTimes() { return {0, kPerToken, kPerSquared, 0}; }

PackingJob TimedJob(const LongSet& set, int64_t ranks) {
  PackingJob job;
  job.pack.caps = set.caps;
  job.times = LongTimes();
  job.bound = false;
  job.by_time = true;
  job.deal.ranks = ranks;
  job.deal.window = 16;
  return job;
}

TEST(PackTimeTest, TheLongestSampleHas28Bits) {
  const std::vector<int32_t> units = {0, 0, 0}, tokens = {100, 200, 400};
  const PackTimes times{0, 1, 0, 0};
  EXPECT_THAT(SampleTimes({units, tokens}, times), ElementsAre(50 << 20, 100 << 20, 200 << 20));
  EXPECT_THAT(SampleTimes({units, tokens}, {0, 0, 1, 0}),
              ElementsAre(10000 << 10, 40000 << 10, 160000 << 10));
  EXPECT_THAT(SampleTimes({units, tokens}, {1, 0, 0, 0}), ElementsAre(0, 0, 0));
}

TEST(PackTimeTest, DummiesCountInPacks) {
  const std::vector<int32_t> units = {4, 0}, tokens = {1, 1};
  Packing packing;
  packing.members = {0, 1};
  packing.offsets = {0, 1, 2};
  const PackTimes times{1, 0, 0, 2};
  const Lengths lengths{units, tokens};
  EXPECT_THAT(PackTimesOf(lengths, SumsOf(lengths, packing), times), ElementsAre(1 << 27, 1 << 26));
}

TEST(PackTimeTest, AnEpochWaitsForTheSlowestRankOfEachStep) {
  const std::vector<int64_t> times = {5, 3, 4, 1, 7};
  const DealRule rule{.ranks = 2, .packs_per_rank = 2};
  const std::vector<int64_t> order = {0, 1, 2, 3, 4, -1, -1, -1};
  const Epoch epoch = EpochOf(times, order, rule);
  EXPECT_EQ(epoch.time, 8 + 7);
  EXPECT_DOUBLE_EQ(epoch.idle, 1 / 8.);  // the mean, 6.5, rounds up; the last step has a hole
}

TEST(PackTimeTest, TheBoundIsThatOfTheLongestPacksOrTheMean) {
  const DealRule rule{.ranks = 2};
  EXPECT_EQ(EpochTimeBound({9, 8, 2, 1}, rule), 11);
  EXPECT_EQ(EpochTimeBound({9, 1, 1, 1}, rule), 10);
  EXPECT_EQ(EpochTimeBound({5, 5, 5, 5}, {.ranks = 2, .packs_per_rank = 2}), 10);
  EXPECT_EQ(EpochTimeBound({}, rule), 0);
}

TEST(TimeLevelTest, LongSetsAreIdleForOnePercentAtMost) {
  for (const LongSet& set : {Documents(4000), LongText(60000)}) {
    for (const int64_t packs : {1, 4}) {
      PackingJob job = TimedJob(set, 8);
      job.deal.packs_per_rank = packs;
      job.window_is_free = true;
      const PackingResult made = PackAndDeal(set.lengths(), job);
      EXPECT_LE(made.balance.idle, .01) << set.name << ", " << packs;
      EXPECT_LT(made.balance.idle, made.idle_by_tokens) << set.name << ", " << packs;
      EXPECT_GE(made.order_gap, 0) << set.name;
    }
  }
}

TEST(TimeLevelTest, TheWindowIsTheLeastThatIsEnough) {
  const LongSet set = LongText(25000);
  PackingJob job = TimedJob(set, 8);
  job.window_is_free = true;
  const PackingResult free = PackAndDeal(set.lengths(), job);
  ASSERT_GT(free.window, 16);
  job.window_is_free = false;
  job.deal.window = free.window / 2;
  EXPECT_GT(PackAndDeal(set.lengths(), job).balance.idle, kIdleEnough);
  job.deal.window = free.window;
  EXPECT_EQ(PackAndDeal(set.lengths(), job).balance.idle, free.balance.idle);
}

TEST(TimeLevelTest, AFreeWindowEndsAtTheWholeEpoch) {
  // Seven packs of unlike samples: nothing makes them level.
  LongSet set{"unlike", {}, {}, {0, 100000}};
  for (const int32_t tokens : {90000, 80000, 70000, 60000, 59000, 58000, 57000}) {
    set.tokens.push_back(tokens);
    set.units.push_back(0);
  }
  PackingJob job = TimedJob(set, 2);
  job.window_is_free = true;
  const PackingResult made = PackAndDeal(set.lengths(), job);
  EXPECT_EQ(made.window, 16);
  EXPECT_GT(made.balance.idle, kIdleEnough);
}

TEST(TimeLevelTest, NeverLongerThanByTokens) {
  for (const int64_t window : {0, 1, 4}) {
    for (const LongSet& set : {Documents(900), LongText(3000)}) {
      PackingJob job = TimedJob(set, 4);
      job.deal.window = window;
      const PackingResult timed = PackAndDeal(set.lengths(), job);
      job.by_time = false;
      const PackingResult plain = PackAndDeal(set.lengths(), job);
      const auto epoch = [&](const PackingResult& made) {
        return EpochOf(PackTimesOf(set.lengths(), made.sums, job.times), made.order, job.deal).time;
      };
      EXPECT_LE(epoch(timed), epoch(plain)) << set.name << ", " << window;
      EXPECT_NEAR(timed.idle_by_tokens, plain.balance.idle, 1e-6) << set.name;
    }
  }
}

TEST(TimeLevelTest, DatasetsStayApart) {
  const LongSet set = LongText(4000);
  PackingJob job = TimedJob(set, 4);
  job.pack.apart = {1000, 3000};
  const PackingResult made = PackAndDeal(set.lengths(), job);
  ASSERT_EQ(made.packing.members.size(), 4000u);
  for (size_t p = 0; p < made.packing.size(); ++p) {
    const bool first = made.packing[p].front() < 1000;
    for (const uint32_t i : made.packing[p]) EXPECT_EQ(i < 1000, first);
  }
}

TEST(TimeLevelTest, NothingAndOversize) {
  const LongSet none{"none", {}, {}, {0, 100}};
  EXPECT_EQ(PackAndDeal(none.lengths(), TimedJob(none, 2)).packing.size(), 0u);
  const LongSet large{"large", {0, 0}, {200, 300}, {0, 100}};
  PackingJob job = TimedJob(large, 2);
  EXPECT_EQ(PackAndDeal(large.lengths(), job).packing.size(), 2u);
  job.pack.oversize = OversizePolicy::kReject;
  EXPECT_EQ(PackAndDeal(large.lengths(), job).packing.rejected.size(), 2u);
}

TEST(TimePacksTest, ShortSamplesMakeUpForLongOnes) {
  // One long sample, and short ones: packs of equal tokens would not take the same time.
  std::vector<int32_t> tokens = {60000};
  tokens.resize(401, 500);
  const std::vector<int32_t> units(tokens.size());
  const Lengths lengths{units, tokens};
  const Caps caps{0, 200000};
  const Packing packing =
      PackByTime(lengths, caps, SampleTimes(lengths, LongTimes()), TimeMethod::kLongestFirst);
  ASSERT_EQ(packing.size(), 2u);
  std::vector<int64_t> times = PackTimesOf(lengths, SumsOf(lengths, packing), LongTimes());
  std::sort(times.begin(), times.end());
  EXPECT_LE(static_cast<double>(times[1]), 1.01 * static_cast<double>(times[0]));
}

}  // namespace
}  // namespace evenkeel::planner
