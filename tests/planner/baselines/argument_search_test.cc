#include "planner/baselines/argument_search.h"

#include <gtest/gtest.h>

#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

struct ArgumentSamples {
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

ArgumentSamples SomeArgumentSamples(int32_t most_units, int32_t text) {
  Random random(5);
  ArgumentSamples samples;
  for (size_t i = 0; i < 3000; ++i) {
    const int32_t units =
        most_units == 0 ? 0
                        : static_cast<int32_t>(random.Below(static_cast<uint64_t>(most_units))) + 1;
    samples.units.push_back(units);
    samples.tokens.push_back(256 * units +
                             static_cast<int32_t>(random.Below(static_cast<uint64_t>(text))) + 1);
  }
  return samples;
}

TEST(ArgumentSearchTest, MovesUpFromTheAnchorUntilPacksHoldEnough) {
  const ArgumentSamples samples = SomeArgumentSamples(7, 600);  // 4 units, 1324 tokens on average
  const ArgumentSearchResult search = SearchArguments(samples.lengths(), {});
  EXPECT_EQ(search.tokens_per_unit, 336);
  ASSERT_TRUE(search.reached);
  EXPECT_EQ(search.tries[0].caps, (Caps{12, 4096}));
  for (size_t i = 1; i < search.tries.size(); ++i) {
    EXPECT_EQ(search.tries[i].caps.units, search.tries[i - 1].caps.units + 1);
    EXPECT_EQ(search.tries[i].caps.tokens, search.tries[i - 1].caps.tokens + 336);
  }
  // The search goes one try beyond the range, and takes the lowest score in the range.
  EXPECT_GT(search.tries.back().samples_per_pack, 5);
  const ArgumentTry& best = search.tries[search.best];
  EXPECT_GE(best.samples_per_pack, 4);
  EXPECT_LE(best.samples_per_pack, 5);
  for (const ArgumentTry& tried : search.tries) {
    if (!tried.in_range) continue;
    EXPECT_LE(best.score(), tried.score());
  }
}

TEST(ArgumentSearchTest, MovesDownFromAnAnchorThatHoldsTooMuch) {
  const ArgumentSamples samples = SomeArgumentSamples(2, 100);
  ArgumentRule rule;
  rule.micro_batch = 2;
  const ArgumentSearchResult search = SearchArguments(samples.lengths(), rule);
  EXPECT_TRUE(search.reached);
  EXPECT_GT(search.tries[0].samples_per_pack, 3);
  EXPECT_LT(search.tries[1].caps.tokens, search.tries[0].caps.tokens);
  EXPECT_LE(search.tries[search.best].samples_per_pack, 3);
}

TEST(ArgumentSearchTest, TextAloneMovesByTheMeanSample) {
  const ArgumentSamples samples = SomeArgumentSamples(0, 2000);
  const ArgumentSearchResult search = SearchArguments(samples.lengths(), {});
  EXPECT_TRUE(search.reached);
  for (const ArgumentTry& tried : search.tries) EXPECT_EQ(tried.caps.units, 0);
}

TEST(ArgumentSearchTest, EndsWithoutASettingInRange) {
  // All samples are equal, with 4096 / 2048 = 2 in a pack, so each step of 2048 tokens adds a whole
  // sample.
  ArgumentSamples samples{std::vector<int32_t>(100, 8), std::vector<int32_t>(100, 2048)};
  ArgumentRule rule;
  rule.tries_at_most = 3;
  const ArgumentSearchResult cut_short = SearchArguments(samples.lengths(), rule);
  EXPECT_FALSE(cut_short.reached);
  EXPECT_EQ(cut_short.tries.size(), 3u);

  // One sample never makes four in a pack.
  samples.units.resize(1), samples.tokens.resize(1);
  const ArgumentSearchResult one = SearchArguments(samples.lengths(), {});
  EXPECT_FALSE(one.reached);
  EXPECT_EQ(one.tries.size(), 64u);
  EXPECT_EQ(one.best, 0u);

  EXPECT_TRUE(SearchArguments({}, {}).tries.empty());
}

TEST(ArgumentSearchTest, CapsNeverFallBelowOneUnit) {
  const ArgumentSamples samples = SomeArgumentSamples(1, 10);
  ArgumentRule rule;
  rule.micro_batch = 1;
  rule.start_tokens = 600;
  for (const ArgumentTry& tried : SearchArguments(samples.lengths(), rule).tries) {
    EXPECT_GE(tried.caps.units, 1);
    EXPECT_GE(tried.caps.tokens, 1);
  }
}

}  // namespace
}  // namespace evenkeel::planner
