#include "planner/packing/padded_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/dealt_packs.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

Job PaddedJob(std::vector<LengthBin> bins, int64_t samples) {
  Job job = TextJob("qwen2-1.5b", "a100-sxm-80gb", 8);
  job.dataset.bins = std::move(bins);
  job.training.micro_batch_samples = samples;
  return job;
}

Job SpreadJob(int64_t samples) {
  return PaddedJob({{0, 100, 5000}, {0, 300, 3000}, {0, 800, 1500}, {0, 2000, 400}, {0, 6000, 100}},
                   samples);
}

// Counts the longest of every set of `samples` of the dataset's samples.
std::map<int64_t, double> LongestOfEverySet(const Dataset& dataset, int64_t samples) {
  std::vector<int64_t> lengths;
  for (const LengthBin& bin : dataset.bins)
    lengths.insert(lengths.end(), static_cast<size_t>(bin.count), bin.llm_tokens);
  std::vector<bool> taken(lengths.size());
  std::fill(taken.begin(), taken.begin() + samples, true);
  std::map<int64_t, double> longest;
  double sets = 0;
  do {
    int64_t most = 0;
    for (size_t i = 0; i < taken.size(); ++i)
      if (taken[i]) most = std::max(most, lengths[i]);
    ++longest[most], ++sets;
  } while (std::prev_permutation(taken.begin(), taken.end()));
  for (auto& [length, share] : longest) share /= sets;
  return longest;
}

TEST(PaddedBatchesTest, RowsAreTheLongestOfEverySet) {
  for (const int64_t samples : {1, 2, 3, 5, 9}) {
    const Job job = PaddedJob({{0, 7, 3}, {0, 20, 1}, {0, 21, 4}, {0, 50, 1}}, samples);
    const std::map<int64_t, double> sets = LongestOfEverySet(job.dataset, samples);
    double all = 0;
    for (const RowLength& row : RowLengthsOf(job.dataset, job.training)) {
      const auto at = sets.find(row.tokens);
      EXPECT_NEAR(row.share, at == sets.end() ? 0 : at->second, 1e-12) << row.tokens;
      all += row.share;
    }
    EXPECT_NEAR(all, 1, 1e-12);
  }
}

TEST(PaddedBatchesTest, MultiplesAndOneLength) {
  Job job = PaddedJob({{0, 7, 3}, {0, 20, 1}, {0, 21, 4}}, 2);
  job.training.pad_to_multiple = 8;
  std::vector<RowLength> rows = RowLengthsOf(job.dataset, job.training);
  ASSERT_EQ(rows.size(), 2u);  // 20 and 21 are both padded to 24
  EXPECT_EQ(rows[0].tokens, 8);
  EXPECT_EQ(rows[1].tokens, 24);
  EXPECT_NEAR(rows[0].share, 3.0 / 28, 1e-12);
  job.training.pad_to_tokens = 30;
  rows = RowLengthsOf(job.dataset, job.training);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].tokens, 32);
  EXPECT_NEAR(rows[0].share, 1, 1e-12);
  const Batching b = MakeBatching(job);
  EXPECT_DOUBLE_EQ(b.mean.tokens, 64);
  EXPECT_EQ(SlowestRankRatio(job, b.packs, b.rule.pack_times, 8, 4), 1) << "all are equal";
}

TEST(PaddedBatchesTest, MomentsAndTheLargest) {
  const Job job = SpreadJob(4);
  const Batching b = MakeBatching(job);
  ASSERT_TRUE(b.padded.has_value());
  double tokens = 0, squared = 0;
  for (const RowLength& row : RowLengthsOf(job.dataset, job.training)) {
    tokens += row.share * D(row.tokens);
    squared += row.share * D(row.tokens) * D(row.tokens);
  }
  EXPECT_DOUBLE_EQ(b.mean.tokens, 4 * tokens);
  EXPECT_DOUBLE_EQ(b.mean.squared, 4 * squared);
  EXPECT_EQ(b.largest.tokens, 24000);
  EXPECT_EQ(b.largest.squared, 4 * 6000.0 * 6000.0);
  EXPECT_EQ(b.rule.token_cap, 24000);
  EXPECT_EQ(b.rule.packs, 2500);
  EXPECT_DOUBLE_EQ(b.real_mean().tokens, 4 * (100 * 0.5 + 300 * 0.3 + 800 * 0.15 + 80 + 60));
  EXPECT_DOUBLE_EQ(b.rule.pad_ratio, 1 - 400 / tokens);
  double drawn = 0;
  for (const PackSums& pack : b.packs) drawn += D(pack.tokens);
  EXPECT_NEAR(drawn / D(static_cast<int64_t>(b.packs.size())), b.mean.tokens, 2e-3 * b.mean.tokens);
}

TEST(PaddedBatchesTest, UnitsAreNotPadded) {
  Job job = QuickstartJob();
  job.dataset.bins = {{1, 300, 70}, {4, 1200, 29}, {9, 2500, 1}};
  job.training.micro_batch_samples = 3;
  const Batching b = MakeBatching(job);
  EXPECT_DOUBLE_EQ(b.mean.units[0], 3 * (0.7 + 4 * 0.29 + 0.09));
  EXPECT_EQ(b.largest.units[0], 9 + 4 + 4) << "one sample has nine";
  EXPECT_EQ(b.largest.tokens, 7500);
  for (const PackSums& pack : b.packs) {
    EXPECT_LE(pack.encoder_units[0], 17);
    EXPECT_EQ(pack.tokens % 3, 0);
  }
}

// Returns the expected largest of `ranks` sums of `terms` values, over all combinations.
double LargestOfAll(const std::vector<Outcome>& outcomes, int64_t terms, int64_t ranks) {
  const size_t n = outcomes.size(), draws = static_cast<size_t>(terms * ranks);
  std::vector<size_t> at(draws);
  double expected = 0;
  for (;;) {
    double probability = 1, largest = 0;
    for (int64_t r = 0; r < ranks; ++r) {
      double sum = 0;
      for (int64_t t = 0; t < terms; ++t) {
        const Outcome& o = outcomes[at[static_cast<size_t>(r * terms + t)]];
        sum += o.value, probability *= o.probability;
      }
      largest = std::max(largest, sum);
    }
    expected += probability * largest;
    size_t i = 0;
    while (i < draws && ++at[i] == n) at[i++] = 0;
    if (i == draws) return expected;
  }
}

TEST(PaddedBatchesTest, LargestSumsLieBetweenTheBounds) {
  const std::vector<Outcome> outcomes = {{1.13, 0.5}, {2.718, 0.3}, {7.77, 0.15}, {9.1, 0.05}};
  for (const auto& [terms, ranks] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {1, 2}, {1, 7}, {2, 2}, {3, 2}, {2, 4}, {4, 2}}) {
    const double exact = LargestOfAll(outcomes, terms, ranks);
    const LargestSum bounds = ExpectedLargestSum(outcomes, terms, ranks);
    EXPECT_LE(bounds.low, exact + 1e-9) << terms << " x " << ranks;
    EXPECT_GE(bounds.high, exact - 1e-9) << terms << " x " << ranks;
    EXPECT_LT(bounds.high - exact, 1e-3 * exact) << terms << " x " << ranks;
    EXPECT_LT(bounds.high - bounds.low, 0.02 * exact) << terms << " x " << ranks;
  }
}

// Returns the mean of the slowest rank's work over steps drawn one by one.
double SimulatedRatio(const Job& job, const Batching& b, int64_t data, int64_t micro_batches,
                      int64_t steps) {
  std::vector<int64_t> lengths;
  for (const LengthBin& bin : job.dataset.bins)
    lengths.insert(lengths.end(), static_cast<size_t>(bin.count), bin.llm_tokens);
  Random random(5);
  const PackTimes& times = b.rule.pack_times;
  double slowest = 0, all = 0;
  for (int64_t s = 0; s < steps; ++s) {
    double most = 0;
    for (int64_t r = 0; r < data; ++r) {
      double work = 0;
      for (int64_t m = 0; m < micro_batches; ++m) {
        int64_t longest = 0;
        for (int64_t i = 0; i < job.training.micro_batch_samples; ++i)
          longest = std::max(longest, lengths[random.Below(lengths.size())]);
        work += times.language_per_token * D(longest) +
                times.language_per_squared_token * D(longest) * D(longest);
      }
      most = std::max(most, work), all += work;
    }
    slowest += most;
  }
  return slowest * D(data) / all;
}

TEST(PaddedBatchesTest, SlowestRankAsSimulated) {
  for (const int64_t samples : {1, 4, 16}) {
    const Job job = SpreadJob(samples);
    const Batching b = MakeBatching(job);
    for (const auto& [data, micro] :
         std::vector<std::pair<int64_t, int64_t>>{{2, 1}, {8, 1}, {8, 8}, {32, 4}}) {
      EXPECT_NEAR(SlowestRankRatio(job, b.packs, b.rule.pack_times, data, micro),
                  SimulatedRatio(job, b, data, micro, 4000), 0.05)
          << samples << " samples, " << data << " x " << micro;
    }
  }
}

TEST(PaddedBatchesTest, ManyMicroBatchesEvenOut) {
  const Job job = SpreadJob(4);
  const Batching b = MakeBatching(job);
  double before = 100;
  for (int64_t micro = 1; micro <= 1 << 16; micro *= 8) {
    const double ratio = SlowestRankRatio(job, b.packs, b.rule.pack_times, 8, micro);
    EXPECT_LT(ratio, before);
    EXPECT_GE(ratio, 1);
    before = ratio;
  }
  EXPECT_LT(before, 1.02);
}

TEST(PaddedBatchesTest, StepsHaveTheMeanOfTheDistribution) {
  const Job job = SpreadJob(4);
  const Batching b = MakeBatching(job);
  const std::vector<PackShape> steps = DealtPacks(b, 8, 4);
  ASSERT_EQ(steps.size() % 32, 0u);
  double tokens = 0;
  for (const PackShape& pack : steps) tokens += pack.tokens;
  EXPECT_NEAR(tokens / D(static_cast<int64_t>(steps.size())), b.mean.tokens, 0.01 * b.mean.tokens);
  EXPECT_EQ(DealtPacks(b, 8, 4).front().tokens, steps.front().tokens);
  EXPECT_FALSE(DealtPacks(b, 1 << 10, 1 << 10).empty()) << "steps of too many micro-batches";
}

}  // namespace
}  // namespace evenkeel::planner
