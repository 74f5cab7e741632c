// Compares the packers with their slow twins, on small random cases.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/packing/best_fit.h"
#include "planner/packing/first_fit.h"
#include "planner/packing/isf.h"
#include "tests/reference/naive_fit.h"
#include "tests/reference/naive_isf.h"

namespace evenkeel::planner::reference {
namespace {

// Few distinct sizes, so that types repeat, or hundreds of units; each fits the caps alone.
struct Case {
  Caps caps;
  NaiveSamples samples;
  std::vector<int32_t> units, tokens;
  Lengths lengths() const { return {units, tokens}; }
};

Case RandomCase() {
  Case c;
  const int64_t most_units = *rc::gen::element<int64_t>(12, 12, 2000);
  c.caps = {*rc::gen::inRange<int64_t>(0, most_units), *rc::gen::inRange<int64_t>(8, 60)};
  const size_t count = *rc::gen::inRange<size_t>(0, most_units > 12 ? 400 : 120);
  const int32_t kinds = *rc::gen::inRange<int32_t>(1, 40);
  for (size_t i = 0; i < count; ++i) {
    const int32_t units = *rc::gen::inRange<int32_t>(0, static_cast<int32_t>(c.caps.units) + 1);
    const int32_t most = std::min(kinds, static_cast<int32_t>(c.caps.tokens));
    const int32_t tokens = *rc::gen::inRange<int32_t>(1, most + 1);
    c.samples.emplace_back(units, tokens);
    c.units.push_back(units);
    c.tokens.push_back(tokens);
  }
  return c;
}

NaivePacks Lists(const Packing& packing) {
  NaivePacks packs;
  for (size_t i = 0; i < packing.size(); ++i)
    packs.emplace_back(packing[i].begin(), packing[i].end());
  return packs;
}

std::vector<std::pair<int64_t, int64_t>> Sums(const Case& c, const NaivePacks& packs) {
  std::vector<std::pair<int64_t, int64_t>> sums;
  for (const auto& pack : packs)
    sums.emplace_back(NaiveUnits(c.samples, pack), NaiveTokens(c.samples, pack));
  std::sort(sums.begin(), sums.end());
  return sums;
}

RC_GTEST_PROP(PackersReferenceTest, IsfMakesTheSamePacksInTheSameOrder, ()) {
  const Case c = RandomCase();
  const int64_t keep_units = *rc::gen::inRange<int64_t>(0, c.caps.units + 1);
  const int64_t keep_tokens = *rc::gen::inRange<int64_t>(1, c.caps.tokens + 1);
  const int64_t iterations = *rc::gen::inRange<int64_t>(0, 12);
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  RC_ASSERT(Lists(PackByIsf(c.lengths(), c.caps, {keep_units, keep_tokens, iterations, seed})) ==
            NaiveIsf(c.samples,
                     {c.caps.units, c.caps.tokens, keep_units, keep_tokens, iterations, seed}));
}

RC_GTEST_PROP(PackersReferenceTest, FirstFitMakesTheSamePacksInTheSameOrder, ()) {
  const Case c = RandomCase();
  for (const TypeOrder by : {TypeOrder::kTokens, TypeOrder::kLargerShare}) {
    const std::vector<uint32_t> order =
        NaiveOrder(c.samples, c.caps.units, c.caps.tokens, by == TypeOrder::kLargerShare);
    const NaivePacks packs = Lists(PackFirstFit(c.lengths(), c.caps, by));
    RC_ASSERT(packs == NaiveFirstFit(c.samples, c.caps.units, c.caps.tokens, order));
    RC_ASSERT(packs == NaiveKnapsack(c.samples, c.caps.units, c.caps.tokens, order));
  }
}

// Either of two open packs with equal room may be taken first, so contents may differ too.
RC_GTEST_PROP(PackersReferenceTest, BestFitMakesPacksOfTheSameSums, ()) {
  const Case c = RandomCase();
  for (const TypeOrder by : {TypeOrder::kTokens, TypeOrder::kLargerShare}) {
    const std::vector<uint32_t> order =
        NaiveOrder(c.samples, c.caps.units, c.caps.tokens, by == TypeOrder::kLargerShare);
    RC_ASSERT(Sums(c, Lists(PackBestFit(c.lengths(), c.caps, by))) ==
              Sums(c, NaiveBestFit(c.samples, c.caps.units, c.caps.tokens, order)));
  }
}

}  // namespace
}  // namespace evenkeel::planner::reference
