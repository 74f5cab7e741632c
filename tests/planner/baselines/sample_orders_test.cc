#include "planner/baselines/sample_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

constexpr BaselineOrder kOrders[] = {BaselineOrder::kRandom, BaselineOrder::kLengthGrouped,
                                     BaselineOrder::kDeviceGrouped, BaselineOrder::kGroupRandom};

struct Samples {
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

Samples SomeSamples(size_t count) {
  Random random(7);
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    samples.units.push_back(static_cast<int32_t>(random.Below(13)));
    samples.tokens.push_back(256 * samples.units.back() + static_cast<int32_t>(random.Below(900)) +
                             1);
  }
  return samples;
}

BaselineRule RuleOf(BaselineOrder order) {
  BaselineRule rule;
  rule.order = order;
  rule.ranks = 4;
  rule.micro_batches = 3;
  return rule;
}

TEST(BaselineOrdersTest, EverySampleOnceAndOneShortStep) {
  for (const size_t count : {0, 1, 15, 16, 17, 96, 1000}) {
    const Samples samples = SomeSamples(count);
    for (const BaselineOrder order : kOrders) {
      const BaselineBatches batches = OrderSamples(samples.lengths(), RuleOf(order));
      std::vector<uint32_t> members = batches.micro_batches.members;
      std::sort(members.begin(), members.end());
      ASSERT_EQ(members.size(), count);
      for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(members[i], i);
      ASSERT_EQ(batches.order.size() % 12, 0u);
      std::vector<int64_t> dealt;
      for (size_t i = 0; i < batches.order.size(); ++i) {
        if (batches.order[i] >= 0) {
          dealt.push_back(batches.order[i]);
        } else {
          EXPECT_GE(i + 12, batches.order.size());
        }
      }
      std::sort(dealt.begin(), dealt.end());
      ASSERT_EQ(dealt.size(), batches.micro_batches.size());
      for (size_t i = 0; i < dealt.size(); ++i) ASSERT_EQ(dealt[i], static_cast<int64_t>(i));
    }
  }
}

TEST(BaselineOrdersTest, KnownRatios) {
  // Two ranks with micro-batches of 2. Either each rank holds one sample of 100 and one of 300
  // tokens, or one rank holds both of each.
  const Samples samples{{1, 3, 1, 3}, {100, 300, 100, 300}};
  BaselineRule rule;
  rule.samples = 2;
  rule.ranks = 2;
  rule.order = BaselineOrder::kDeviceGrouped;
  const BaselineBatches alike = OrderSamples(samples.lengths(), rule);
  EXPECT_DOUBLE_EQ(alike.pad_ratio, 400.0 / 1200);
  EXPECT_DOUBLE_EQ(alike.balance.dist_ratio_units, 0);
  EXPECT_DOUBLE_EQ(alike.balance.dist_ratio_tokens, 0);
  EXPECT_DOUBLE_EQ(alike.samples_per_micro_batch, 2);
  rule.ranks = 1;  // now a row is one micro-batch, so length grouping can sort across rows
  rule.order = BaselineOrder::kLengthGrouped;
  EXPECT_DOUBLE_EQ(OrderSamples(samples.lengths(), rule).pad_ratio, 0);
}

TEST(BaselineOrdersTest, EachOrderBuysWhatItIsFor) {
  const Samples samples = SomeSamples(20'000);
  const auto make = [&](BaselineOrder order) {
    BaselineRule rule = RuleOf(order);
    rule.micro_batches = 1;
    return OrderSamples(samples.lengths(), rule);
  };
  const BaselineBatches random = make(BaselineOrder::kRandom);
  const BaselineBatches length = make(BaselineOrder::kLengthGrouped);
  const BaselineBatches device = make(BaselineOrder::kDeviceGrouped);
  const BaselineBatches group = make(BaselineOrder::kGroupRandom);
  EXPECT_LT(length.pad_ratio, random.pad_ratio);
  EXPECT_LT(length.balance.dist_ratio_tokens, random.balance.dist_ratio_tokens);
  EXPECT_GT(device.pad_ratio, random.pad_ratio);
  EXPECT_LT(device.balance.dist_ratio_tokens, random.balance.dist_ratio_tokens);
  EXPECT_LT(device.balance.dist_ratio_units, random.balance.dist_ratio_units);
  EXPECT_LT(group.pad_ratio, random.pad_ratio);
  // Rows of a group come in random order, not from short to long.
  EXPECT_LT(std::abs(group.balance.step_trend), 0.2);
}

TEST(BaselineOrdersTest, DependsOnTheSeedAlone) {
  const Samples samples = SomeSamples(500);
  for (const BaselineOrder order : kOrders) {
    BaselineRule rule = RuleOf(order);
    const Packing first = OrderSamples(samples.lengths(), rule).micro_batches;
    EXPECT_EQ(first.members, OrderSamples(samples.lengths(), rule).micro_batches.members);
    rule.seed = 1;
    EXPECT_NE(first.members, OrderSamples(samples.lengths(), rule).micro_batches.members);
  }
}

}  // namespace
}  // namespace evenkeel::planner
