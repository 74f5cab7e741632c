// Packs and orders that are level in time, against all packs and all orders of cases small enough
// to try everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/deal.h"
#include "planner/packing/pack_dataset.h"
#include "planner/packing/pack_time.h"

namespace evenkeel::planner::reference {
namespace {

// Returns the least sum over steps of the slowest rank's time, over all ways to give packs to
// steps x ranks with at most `slots` packs each. All steps but the last must be full.
int64_t BestEpoch(const std::vector<int64_t>& packs, size_t ranks, size_t slots) {
  const size_t steps = (packs.size() + ranks * slots - 1) / (ranks * slots);
  std::vector<int64_t> time(steps * ranks);
  std::vector<size_t> count(steps * ranks);
  const size_t room = steps * ranks * slots - packs.size();  // all in the last step
  int64_t best = std::numeric_limits<int64_t>::max();
  const std::function<void(size_t)> place = [&](size_t pack) {
    if (pack == packs.size()) {
      size_t last = 0;
      for (size_t r = 0; r < ranks; ++r) last += count[(steps - 1) * ranks + r];
      if (ranks * slots - last != room) return;
      int64_t sum = 0;
      for (size_t s = 0; s < steps; ++s) {
        const auto first = time.begin() + static_cast<std::ptrdiff_t>(s * ranks);
        sum += *std::max_element(first, first + static_cast<std::ptrdiff_t>(ranks));
      }
      best = std::min(best, sum);
      return;
    }
    for (size_t i = 0; i < time.size(); ++i) {
      if (count[i] == slots) continue;
      ++count[i], time[i] += packs[pack];
      place(pack + 1);
      --count[i], time[i] -= packs[pack];
    }
  };
  place(0);
  return best;
}

// Returns the least such sum over all packings of the samples under the cap, too.
int64_t BestPacking(const std::vector<int32_t>& tokens, const std::vector<int32_t>& times,
                    int64_t cap, size_t ranks) {
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> length, time;
  const std::function<void(size_t)> place = [&](size_t sample) {
    if (sample == tokens.size()) {
      best = std::min(best, BestEpoch(time, ranks, 1));
      return;
    }
    for (size_t p = 0; p < length.size(); ++p) {
      if (length[p] + tokens[sample] > cap) continue;
      length[p] += tokens[sample], time[p] += times[sample];
      place(sample + 1);
      length[p] -= tokens[sample], time[p] -= times[sample];
    }
    length.push_back(tokens[sample]), time.push_back(times[sample]);
    place(sample + 1);
    length.pop_back(), time.pop_back();
  };
  place(0);
  return best;
}

TEST(BestTimeDealTest, OnePackPerRankIsDealtAsWellAsCanBe) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const DealRule rule{.ranks = 2 + static_cast<int64_t>(random.Below(2)), .window = 0};
    std::vector<int64_t> packs;
    const size_t steps = 2 + random.Below(2);
    for (size_t i = 0; i < steps * static_cast<size_t>(rule.ranks) && packs.size() < 8; ++i)
      packs.push_back(1 + static_cast<int64_t>(random.Below(1 << 28)));
    while (packs.size() % static_cast<size_t>(rule.ranks) != 0) packs.pop_back();
    const int64_t best = BestEpoch(packs, static_cast<size_t>(rule.ranks), 1);
    EXPECT_EQ(EpochOf(packs, Deal(WorkByTime(packs), rule), rule).time, best) << seed;
    EXPECT_LE(EpochTimeBound(packs, rule), best) << seed;
  }
}

TEST(BestTimeDealTest, SeveralPacksPerRankComeNear) {
  double ours = 0, all = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const DealRule rule{.ranks = 2, .packs_per_rank = 2, .window = 0};
    std::vector<int64_t> packs;
    const size_t count = 5 + random.Below(4);
    for (size_t i = 0; i < count; ++i)
      packs.push_back(1 + static_cast<int64_t>(random.Below(1 << 28)));
    const int64_t best = BestEpoch(packs, 2, 2);
    const int64_t dealt = EpochOf(packs, Deal(WorkByTime(packs), rule), rule).time;
    ASSERT_GE(dealt, best) << seed;
    ASSERT_LE(EpochTimeBound(packs, rule), best) << seed;
    ours += static_cast<double>(dealt), all += static_cast<double>(best);
  }
  EXPECT_LE(ours / all, 1.10);
}

// Our packs are few, which the best need not be.
TEST(BestTimeDealTest, PacksAndOrderComeNear) {
  double ours = 0, all = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < 6; ++i) tokens.push_back(1 + static_cast<int32_t>(random.Below(1000)));
    const std::vector<int32_t> units(tokens.size());
    const Lengths lengths{units, tokens};
    PackingJob job;
    job.pack.caps = {0, 1200};
    job.times = {0, 1, .002, 0};
    job.by_time = true;
    job.bound = false;
    job.deal.ranks = 2;
    job.deal.window = 0;
    const PackingResult made = PackAndDeal(lengths, job);
    const int64_t epoch =
        EpochOf(PackTimesOf(lengths, made.sums, job.times), made.order, job.deal).time;
    const int64_t best = BestPacking(tokens, SampleTimes(lengths, job.times), 1200, 2);
    ASSERT_GE(epoch + 12, best) << seed;  // times of packs and samples are rounded separately
    ours += static_cast<double>(epoch), all += static_cast<double>(best);
  }
  EXPECT_LE(ours / all, 1.20);
}

}  // namespace
}  // namespace evenkeel::planner::reference
