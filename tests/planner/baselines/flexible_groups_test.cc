#include "planner/baselines/flexible_groups.h"

#include <gtest/gtest.h>

namespace evenkeel::planner {
namespace {

PackShape Sample(double tokens) { return {0, tokens, tokens * tokens}; }

DegreeTimes LinearTimes() {
  return {{1, {.per_token = 1}}, {2, {.per_token = .6}}, {4, {.per_token = .4}}};
}

TEST(FlexibleGroupsTest, LongSamplesGetTheDegreeThatHoldsThem) {
  const auto groups = AssignFlexibly({Sample(350), Sample(150), Sample(10)}, 8, 100, LinearTimes());
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].degree, 4);
  EXPECT_EQ(groups[1].degree, 2);
  EXPECT_EQ(groups[2].degree, 1);
  EXPECT_EQ(groups[0].work.tokens, 350);
}

TEST(FlexibleGroupsTest, ShortSamplesGoToTheGroupThatEndsFirst) {
  const auto groups = AssignFlexibly({Sample(60), Sample(50), Sample(40), Sample(30)}, 2, 100,
                                     {{1, {.per_token = 1}}});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].work.tokens, 90);
  EXPECT_EQ(groups[1].work.tokens, 90);
}

TEST(FlexibleGroupsTest, WhatIsTooMuchAtOnceRunsInWaves) {
  EXPECT_TRUE(AssignFlexibly({Sample(350), Sample(350)}, 4, 100, LinearTimes()).empty());
  EXPECT_EQ(AssignInWaves({Sample(350), Sample(350)}, 4, 100, LinearTimes()).size(), 2u);
  EXPECT_EQ(AssignInWaves({Sample(350)}, 4, 100, LinearTimes()).size(), 1u);
  EXPECT_TRUE(AssignInWaves({Sample(500)}, 4, 100, LinearTimes()).empty());
}

}  // namespace
}  // namespace evenkeel::planner
