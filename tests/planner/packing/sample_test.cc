#include "planner/packing/sample.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "planner/catalog/default_dataset.h"

namespace evenkeel::planner {
namespace {

std::map<std::pair<int64_t, int64_t>, int64_t> CountByBin(const DrawnSamples& drawn) {
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (size_t i = 0; i < drawn.tokens.size(); ++i) ++counts[{drawn.units[i], drawn.tokens[i]}];
  return counts;
}

TEST(SampleTest, TakesEverySampleOfASmallDataset) {
  const Dataset dataset{{{0, 10, 3}, {1, 300, 2}, {4, 2000, 1}}};
  EXPECT_EQ(SampleCount(dataset), 6);
  const auto counts = CountByBin(DrawSamples(dataset, 20));
  EXPECT_EQ(counts.at({0, 10}), 3);
  EXPECT_EQ(counts.at({1, 300}), 2);
  EXPECT_EQ(counts.at({4, 2000}), 1);
}

TEST(SampleTest, RareBinsAreDrawnTogether) {
  // A tail of 1000 bins with one sample each is a tenth of the data, and a tenth of the draws.
  Dataset dataset{{{0, 1, 9000}}};
  for (int64_t i = 0; i < 1000; ++i) dataset.bins.push_back({0, 100 + i, 1});
  const DrawnSamples drawn = DrawSamples(dataset, 100);
  ASSERT_EQ(drawn.tokens.size(), 100u);
  EXPECT_EQ(drawn.tokens[89], 1);
  for (size_t i = 90; i < 100; ++i)
    EXPECT_EQ(drawn.tokens[i], 100 + static_cast<int32_t>(i - 90) * 100 + 49);
}

TEST(SampleTest, DrawsExactlySoManyWithinOneOfEachShare) {
  const Dataset dataset = DefaultVisionLanguageDataset();
  const double total = static_cast<double>(SampleCount(dataset));
  for (const int64_t draws : {1, 7, 999, 20000}) {
    const DrawnSamples drawn = DrawSamples(dataset, draws);
    EXPECT_EQ(static_cast<int64_t>(drawn.tokens.size()), draws);
    auto counts = CountByBin(drawn);
    for (const LengthBin& bin : dataset.bins) {
      const double share = static_cast<double>(bin.count) / total * static_cast<double>(draws);
      EXPECT_NEAR(static_cast<double>(counts[{bin.units[0], bin.llm_tokens}]), share, 1);
    }
  }
}

TEST(SampleTest, CountsBeyondAnyLoopAreFine) {
  const Dataset dataset{{{0, 1, 1'000'000'000'000'000}, {0, 2, 1}, {0, 3, 3'000'000'000'000'000}}};
  auto counts = CountByBin(DrawSamples(dataset, 1000));
  EXPECT_EQ((counts[{0, 1}]), 250);
  EXPECT_EQ((counts[{0, 3}]), 750);
}

}  // namespace
}  // namespace evenkeel::planner
