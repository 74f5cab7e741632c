#include "planner/workload/mixing.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace evenkeel::planner {
namespace {

using Bins = std::vector<LengthBin>;

int64_t SamplesOf(const Bins& bins) {
  return std::accumulate(bins.begin(), bins.end(), int64_t{0},
                         [](int64_t sum, const LengthBin& bin) { return sum + bin.count; });
}

TEST(MixingTest, WholeWeightsAreExactWhateverTheSize) {
  const int64_t many = 999'999'999'937;  // a prime below 10^12
  const Bins tripled = Repeated({{0, 10, many}, {0, 20, 7}}, 3);
  ASSERT_EQ(tripled.size(), 2u);
  EXPECT_EQ(tripled[0].llm_tokens, 20);
  EXPECT_EQ(tripled[0].count, 21);
  EXPECT_EQ(tripled[1].count, 3 * many);
}

TEST(MixingTest, FractionsAreRoundedOnceFromTheLongestDown) {
  const Bins bins = {{0, 1, 10}, {0, 2, 1}, {0, 3, 1}, {0, 4, 1}};
  const Bins half = Repeated(bins, 0.5);
  EXPECT_EQ(SamplesOf(half), 7);  // of 13
  EXPECT_EQ(half.front().llm_tokens, 4) << "the longest stays";
  const Bins few = Repeated(bins, 1e-6);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(few[0].llm_tokens, 4);
  EXPECT_EQ(few[0].count, 1);
}

TEST(MixingTest, SharesKeepTheTotalAndForgetTheSizes) {
  const std::vector<Bins> mixed = Shared({{{0, 10, 900'000}}, {{0, 20, 100'000}}}, {0.7, 0.3});
  EXPECT_EQ(SamplesOf(mixed[0]), 700'000);
  EXPECT_EQ(SamplesOf(mixed[1]), 300'000);
  const std::vector<Bins> same = Shared({{{0, 10, 900'000}}, {{0, 20, 100'000}}}, {7, 3});
  EXPECT_EQ(SamplesOf(same[0]), 700'000);
  const std::vector<Bins> thirds = Shared({{{0, 1, 4}}, {{0, 2, 3}}, {{0, 3, 3}}}, {1, 1, 1});
  EXPECT_EQ(SamplesOf(thirds[0]) + SamplesOf(thirds[1]) + SamplesOf(thirds[2]), 10);
  const std::vector<Bins> tiny = Shared({{{0, 1, 4}}, {{0, 2, 3}}}, {1e6, 1e-6});
  EXPECT_EQ(SamplesOf(tiny[1]), 1) << "every part has a sample";
}

TEST(MixingTest, LargePartsDoNotOverflow) {
  const int64_t many = 1'000'000'000'000;
  const std::vector<Bins> mixed =
      Shared(std::vector<Bins>(64, {{0, 10, many / 64}}), std::vector<double>(64, 1e6));
  for (const Bins& part : mixed) EXPECT_EQ(SamplesOf(part), many / 64);
  EXPECT_EQ(SamplesOf(Repeated({{0, 10, many}}, 1e4)), 10'000 * many);
}

}  // namespace
}  // namespace evenkeel::planner
