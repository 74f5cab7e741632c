// Checks properties that every packing must have, on random lengths and caps.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/packing/pack_bound.h"
#include "planner/packing/packer.h"

namespace evenkeel::planner {
namespace {

struct PackingCase {
  std::vector<int32_t> units, tokens;
  PackRule rule;
  Lengths lengths() const { return {units, tokens}; }
};

PackingCase RandomPackingCase() {
  PackingCase c;
  c.rule.caps = {*rc::gen::inRange<int64_t>(0, 50), *rc::gen::inRange<int64_t>(1, 9000)};
  c.rule.seed = *rc::gen::arbitrary<uint64_t>();
  c.rule.keep_units = c.rule.caps.units;
  c.rule.keep_tokens = std::max<int64_t>(1, c.rule.caps.tokens - 128);
  c.rule.oversize = *rc::gen::element(OversizePolicy::kAlone, OversizePolicy::kReject);
  const int64_t most_units = *rc::gen::element<int64_t>(0, 1, 5, c.rule.caps.units + 2);
  const int64_t most_tokens =
      *rc::gen::element<int64_t>(1, 100, c.rule.caps.tokens, c.rule.caps.tokens + 100);
  const size_t samples = *rc::gen::inRange<size_t>(0, 400);
  for (size_t i = 0; i < samples; ++i) {
    c.units.push_back(static_cast<int32_t>(*rc::gen::inRange<int64_t>(0, most_units + 1)));
    c.tokens.push_back(static_cast<int32_t>(*rc::gen::inRange<int64_t>(1, most_tokens + 1)));
  }
  return c;
}

constexpr Packer kPackers[] = {Packer::kBalanced,           Packer::kIsf,
                               Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing,
                               Packer::kGreedyKnapsack,     Packer::kNextFit};

RC_GTEST_PROP(PackingProperty, EverySampleOnceUnderTheCaps, ()) {
  PackingCase c = RandomPackingCase();
  for (const Packer packer : kPackers) {
    c.rule.packer = packer;
    const Packing packing = Pack(c.lengths(), c.rule);
    std::vector<int> seen(c.units.size());
    for (const uint32_t i : packing.members) ++seen[i];
    for (const uint32_t i : packing.rejected) ++seen[i];
    RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
    for (size_t p = 0; p < packing.size(); ++p) {
      int64_t units = 0, tokens = 0;
      for (const uint32_t i : packing[p]) units += c.units[i], tokens += c.tokens[i];
      RC_ASSERT(!packing[p].empty());
      RC_ASSERT(packing[p].size() == 1 || c.rule.caps.Hold(units, tokens));
    }
    for (const uint32_t i : packing.oversize) RC_ASSERT(!c.rule.caps.Hold(c.units[i], c.tokens[i]));
  }
}

RC_GTEST_PROP(PackingProperty, PacksLevelInTimeHoldEverySampleOnceOrNone, ()) {
  PackingCase c = RandomPackingCase();
  c.rule.oversize = OversizePolicy::kAlone;
  c.rule.times = {*rc::gen::element(0., 1e-3), *rc::gen::element(0., 1e-4),
                  *rc::gen::element(0., 1e-9, 1e-6), *rc::gen::element<int64_t>(0, 1)};
  for (const TimeMethod method : {TimeMethod::kLongestFirst, TimeMethod::kColumn}) {
    c.rule.by_time = method;
    const Packing packing = Pack(c.lengths(), c.rule);
    if (packing.size() == 0) continue;
    std::vector<int> seen(c.units.size());
    for (const uint32_t i : packing.members) ++seen[i];
    RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
    for (size_t p = 0; p < packing.size(); ++p) {
      int64_t units = 0, tokens = 0;
      for (const uint32_t i : packing[p]) units += c.units[i], tokens += c.tokens[i];
      RC_ASSERT(!packing[p].empty());
      RC_ASSERT(packing[p].size() == 1 || c.rule.caps.Hold(units, tokens));
    }
  }
}

RC_GTEST_PROP(PackingProperty, BalancedIsNeverMoreThanOthersNorLessThanTheBound, ()) {
  PackingCase c = RandomPackingCase();
  c.rule.oversize = OversizePolicy::kAlone;
  const size_t balanced = Pack(c.lengths(), c.rule).size();
  if (!c.units.empty()) {
    const PackBound bound = LowerBound(SortByType(c.lengths()).types, c.rule.caps);
    RC_ASSERT(static_cast<int64_t>(balanced) >= bound.packs);
  }
  for (const Packer packer : kPackers) {
    c.rule.packer = packer;
    RC_ASSERT(balanced <= Pack(c.lengths(), c.rule).size());
  }
}

}  // namespace
}  // namespace evenkeel::planner
