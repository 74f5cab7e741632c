#include "client/cli/dataset/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace evenkeel::cli {
namespace {

// Returns lengths like those of a vision-language mix, with more distinct lengths than fit exactly.
std::vector<std::pair<int64_t, int64_t>> ManySamples() {
  std::mt19937 random(7);
  std::vector<std::pair<int64_t, int64_t>> samples;
  for (int i = 0; i < 60000; ++i) {
    const int64_t units = random() % 13;
    samples.emplace_back(units, units * 256 + 1 + random() % 3000);
  }
  return samples;
}

LengthCounts Count(const std::vector<std::pair<int64_t, int64_t>>& samples) {
  LengthCounts counts;
  for (const auto& [units, tokens] : samples) counts.Add(units, tokens);
  return counts;
}

TEST(HistogramTest, IsExactWhereThatFits) {
  const std::vector<LengthCount> sorted = {{0, 9, 4}, {1, 300, 2}, {1, 301, 1}};
  const BinnedHistogram binned = BinLengths(sorted);
  EXPECT_TRUE(binned.exact());
  EXPECT_EQ(binned.Describe(), "exact: 3 distinct lengths, 17 bytes");
  EXPECT_EQ(std::vector<int64_t>(binned.histogram.units().begin(), binned.histogram.units().end()),
            (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(binned.histogram.llm_tokens(2), 301);
  EXPECT_EQ(binned.histogram.sample_count(0), 4);
}

TEST(HistogramTest, TextOnlyDataHasNoUnits) {
  EXPECT_EQ(BinLengths({{0, 9, 4}, {0, 10, 1}}).histogram.units_size(), 0);
}

TEST(HistogramTest, BinsKeepCountsAndNearlyKeepTokens) {
  const std::vector<LengthCount> sorted = Count(ManySamples()).Sorted();
  const BinnedHistogram binned = BinLengths(sorted);
  EXPECT_FALSE(binned.exact());
  EXPECT_EQ(binned.unit_width, 1);
  EXPECT_LT(binned.bytes, kMaxHistogramBytes);
  EXPECT_EQ(binned.bytes, static_cast<int64_t>(binned.histogram.SerializeAsString().size()));
  // The next finer width does not fit, so the binning is the finest.
  EXPECT_GT(BinLengths(sorted, binned.bytes).token_width, binned.token_width);
  int64_t count = 0, units = 0, tokens = 0, want_count = 0, want_units = 0, want_tokens = 0;
  for (const LengthCount& bin : sorted) {
    want_count += bin.count;
    want_units += bin.units[0] * bin.count;
    want_tokens += bin.tokens * bin.count;
  }
  for (int i = 0; i < binned.histogram.sample_count_size(); ++i) {
    const int64_t samples = binned.histogram.sample_count(i);
    count += samples;
    units += binned.histogram.units(i) * samples;
    tokens += binned.histogram.llm_tokens(i) * samples;
    EXPECT_GE(binned.histogram.llm_tokens(i), 256 * binned.histogram.units(i));
  }
  EXPECT_EQ(count, want_count);
  EXPECT_EQ(units, want_units);
  EXPECT_LE(std::abs(tokens - want_tokens), count / 2);
}

TEST(HistogramTest, OrderOfSamplesLeavesNoTrace) {
  auto samples = ManySamples();
  const std::string once = BinLengths(Count(samples).Sorted()).histogram.SerializeAsString();
  std::mt19937 random(8);
  std::shuffle(samples.begin(), samples.end(), random);
  EXPECT_EQ(BinLengths(Count(samples).Sorted()).histogram.SerializeAsString(), once);
}

TEST(HistogramTest, ManyDistinctUnitsGetUnitBins) {
  LengthCounts counts;
  for (int64_t units = 0; units < 400000; ++units) counts.Add(units, 2 * units + 1);
  const BinnedHistogram binned = BinLengths(counts.Sorted());
  EXPECT_GT(binned.unit_width, 1);
  EXPECT_LT(binned.bytes, kMaxHistogramBytes);
  int64_t samples = 0;
  for (int i = 0; i < binned.histogram.sample_count_size(); ++i) {
    samples += binned.histogram.sample_count(i);
    EXPECT_GE(binned.histogram.llm_tokens(i), 2 * binned.histogram.units(i));
  }
  EXPECT_EQ(samples, 400000);
}

TEST(HistogramTest, ExtremesDoNotOverflow) {
  const BinnedHistogram binned = BinLengths({{kMaxUnits, kMaxTokens, kMaxSamples}});
  EXPECT_EQ(binned.histogram.units(0), kMaxUnits);
  EXPECT_EQ(binned.histogram.llm_tokens(0), kMaxTokens);
  EXPECT_EQ(binned.histogram.sample_count(0), kMaxSamples);
}

TEST(LengthCountsTest, PercentilesAreNearestRank) {
  const LengthSummary summary =
      SummarizeTokens({{0, 10, 1}, {0, 20, 1}, {1, 30, 1}, {1, 40, 1}}, {0, 25, 50, 75, 99, 100});
  EXPECT_EQ(summary.percentiles, (std::vector<int64_t>{10, 10, 20, 30, 40, 40}));
  EXPECT_EQ(summary.min, 10);
  EXPECT_EQ(summary.max, 40);
  EXPECT_DOUBLE_EQ(summary.mean, 25);
  EXPECT_DOUBLE_EQ(SummarizeUnits({{0, 10, 3}, {1, 30, 1}}, {}).mean, 0.25);
}

}  // namespace
}  // namespace evenkeel::cli
