// Checks properties that every step order must have, on random packs and rules.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/packing/deal.h"
#include "planner/packing/metrics.h"

namespace evenkeel::planner {
namespace {

struct DealCase {
  std::vector<PackWork> work;
  DealRule rule;
};

// Draws work with few values or many, zeros, or the largest possible value.
int32_t Work(int kind) {
  switch (kind) {
    case 0:
      return 5;
    case 1:
      return *rc::gen::inRange(0, 4);
    case 2:
      return 1 << *rc::gen::inRange(0, 31);
    default:
      return *rc::gen::inRange(0, (1 << 30) + 1);
  }
}

DealCase RandomDealCase() {
  DealCase c;
  c.rule.ranks = *rc::gen::inRange<int64_t>(1, 9);
  c.rule.group = *rc::gen::element<int64_t>(1, 1, 2, 3);
  c.rule.packs_per_rank = c.rule.group * *rc::gen::inRange<int64_t>(1, 5);
  c.rule.window = *rc::gen::element<int64_t>(0, 1, 2, 3, 16);
  c.rule.seed = *rc::gen::arbitrary<uint64_t>();
  c.rule.epoch = *rc::gen::inRange<int64_t>(0, 1000);
  const int vision = *rc::gen::inRange(0, 4), language = *rc::gen::inRange(0, 4);
  const size_t packs = *rc::gen::inRange<size_t>(0, 200);
  for (size_t i = 0; i < packs; ++i) c.work.push_back({Work(vision), Work(language)});
  return c;
}

Balance Measure(const DealCase& c, const std::vector<int64_t>& order) {
  std::vector<PackSums> sums;
  for (const PackWork& w : c.work) sums.push_back({w.vision, w.language, 0});
  return BalanceOf(sums, c.work, order, c.rule.ranks, c.rule.packs_per_rank);
}

RC_GTEST_PROP(DealProperty, EveryPackComesOnceInRowsOfEqualSize, ()) {
  const DealCase c = RandomDealCase();
  const std::vector<int64_t> order = Deal(c.work, c.rule);
  const size_t step = static_cast<size_t>(c.rule.ranks * c.rule.packs_per_rank);
  RC_ASSERT(order.size() == (c.work.size() + step - 1) / step * step);
  std::vector<int> seen(c.work.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0) {
      RC_ASSERT(order[i] == -1);
      RC_ASSERT(i / step == order.size() / step - 1);
    } else {
      ++seen.at(static_cast<size_t>(order[i]));
    }
  }
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
}

RC_GTEST_PROP(DealProperty, OnlyTheLastStepIsHoledAndItIsSpread, ()) {
  const DealCase c = RandomDealCase();
  const std::vector<int64_t> order = Deal(c.work, c.rule);
  if (order.empty()) return;
  RC_ASSERT(Measure(c, order).holed_steps <= 1);
  const size_t slots = static_cast<size_t>(c.rule.packs_per_rank);
  size_t least = slots, most = 0;
  for (size_t rank = 0; rank < static_cast<size_t>(c.rule.ranks); ++rank) {
    const auto hand = order.end() - static_cast<std::ptrdiff_t>((rank + 1) * slots);
    const size_t count = static_cast<size_t>(std::count_if(
        hand, hand + static_cast<std::ptrdiff_t>(slots), [](int64_t p) { return p >= 0; }));
    least = std::min(least, count), most = std::max(most, count);
    for (size_t i = 0; i < count; ++i) RC_ASSERT(hand[static_cast<std::ptrdiff_t>(i)] >= 0);
  }
  RC_ASSERT(most - least <= 1);
}

RC_GTEST_PROP(DealProperty, TheOrderIsAFunctionOfTheRule, ()) {
  const DealCase c = RandomDealCase();
  RC_ASSERT(Deal(c.work, c.rule) == Deal(c.work, c.rule));
}

// With one pack per rank, and one part equal in all packs, grouping is as good as sorting.
RC_GTEST_PROP(DealProperty, OneConstantPartLeavesASort, ()) {
  DealCase c = RandomDealCase();
  c.rule = {.ranks = c.rule.ranks, .packs_per_rank = 1, .window = 0, .seed = c.rule.seed};
  // Costs are shares in units of 2^-16 of means rounded down, so they are only this exact for work
  // of many bits.
  for (PackWork& w : c.work) w = {5, *rc::gen::inRange(1 << 20, 1 << 30)};
  const Balance dealt = Measure(c, Deal(c.work, c.rule));
  std::vector<int64_t> sorted(c.work.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<int64_t>(i);
  std::sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) {
    return c.work[static_cast<size_t>(a)].language < c.work[static_cast<size_t>(b)].language;
  });
  while (sorted.size() % static_cast<size_t>(c.rule.ranks) != 0) sorted.push_back(-1);
  RC_ASSERT(dealt.dist_ratio_units == 0);
  RC_ASSERT(dealt.dist_ratio_tokens <= Measure(c, sorted).dist_ratio_tokens + 1e-4);
}

}  // namespace
}  // namespace evenkeel::planner
