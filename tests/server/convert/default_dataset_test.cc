#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "planner/catalog/default_dataset.h"
#include "planner/job.h"

namespace evenkeel::planner {
namespace {

struct Totals {
  int64_t samples = 0, units = 0, tokens = 0;
};

Totals TotalsOf(const Dataset& dataset) {
  Totals totals;
  for (const LengthBin& bin : dataset.bins) {
    totals.samples += bin.count;
    totals.units += bin.count * bin.units[0];
    totals.tokens += bin.count * bin.llm_tokens;
  }
  return totals;
}

// These are the sums of the three published files. Rounding each bin's mean changes the tokens by
// less than 0.01%.
TEST(DefaultDataset, KeepsTheTotalsOfThePublishedLengths) {
  const Totals totals = TotalsOf(DefaultVisionLanguageDataset());
  EXPECT_EQ(totals.samples, 40941);
  EXPECT_EQ(totals.units, 165103);
  EXPECT_NEAR(static_cast<double>(totals.tokens), 47446649, 4700);
}

TEST(DefaultDataset, BinsAreDistinctAndAscend) {
  const Dataset dataset = DefaultVisionLanguageDataset();
  EXPECT_TRUE(dataset.is_default);
  for (size_t i = 1; i < dataset.bins.size(); ++i) {
    const LengthBin& a = dataset.bins[i - 1];
    const LengthBin& b = dataset.bins[i];
    EXPECT_LT(std::tie(a.units[0], a.llm_tokens), std::tie(b.units[0], b.llm_tokens));
  }
}

TEST(DefaultDataset, VisualTokensFollowTheEncoder) {
  const Totals published = TotalsOf(DefaultVisionLanguageDataset());
  const Totals denser = TotalsOf(DefaultVisionLanguageDataset(576));
  EXPECT_EQ(denser.tokens - published.tokens, (576 - 256) * published.units);
  for (const LengthBin& bin : DefaultVisionLanguageDataset(1).bins) {
    EXPECT_GT(bin.llm_tokens, bin.units[0]);
  }
}

TEST(DefaultDataset, TextIsAMillionSamplesOf4096Tokens) {
  const Dataset dataset = DefaultTextDataset();
  EXPECT_TRUE(dataset.is_default);
  ASSERT_EQ(dataset.bins.size(), 1u);
  EXPECT_EQ(dataset.bins[0].llm_tokens, 4096);
  EXPECT_EQ(dataset.bins[0].count, 1000000);
}

}  // namespace
}  // namespace evenkeel::planner
