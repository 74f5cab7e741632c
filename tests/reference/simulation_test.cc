// The simulator of 1F1B and ISF against their slow twins.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>
#include <vector>

#include "planner/packing/isf.h"
#include "planner/simulate/one_f_one_b.h"
#include "tests/reference/naive_isf.h"
#include "tests/reference/naive_one_f_one_b.h"

namespace evenkeel::planner::reference {
namespace {

using Table = std::vector<std::vector<int64_t>>;

Table RandomTable(size_t rows, size_t columns, int64_t most) {
  Table table(rows);
  for (std::vector<int64_t>& row : table) {
    for (size_t i = 0; i < columns; ++i) row.push_back(*rc::gen::inRange<int64_t>(0, most));
  }
  return table;
}

TEST(OneFOneBReferenceTest, EverySmallPipeline) {
  // Stage times from {1, 2, 5} by the digits of a counter.
  constexpr int64_t kTimes[] = {1, 2, 5};
  for (size_t stages = 1; stages <= 3; ++stages) {
    for (size_t packs = 1; packs <= 5; ++packs) {
      for (int code = 0; code < 729; ++code) {
        PipelineTimes times;
        int digits = code;
        for (size_t s = 0; s < stages; ++s) {
          times.forward.emplace_back(packs, kTimes[digits % 3]);
          times.backward.emplace_back(packs, kTimes[digits / 3 % 3]);
          times.send.push_back(code % 4);
          digits /= 9;
        }
        ASSERT_EQ(SimulateOneFOneB(times),
                  LongestPathOneFOneB(times.forward, times.backward, times.send));
      }
    }
  }
}

RC_GTEST_PROP(OneFOneBReferenceTest, RandomPipelines, ()) {
  const size_t stages = *rc::gen::inRange<size_t>(1, 9), packs = *rc::gen::inRange<size_t>(1, 25);
  PipelineTimes times{RandomTable(stages, packs, 50), RandomTable(stages, packs, 90), {}};
  for (size_t s = 0; s < stages; ++s) times.send.push_back(*rc::gen::inRange<int64_t>(0, 20));
  RC_ASSERT(SimulateOneFOneB(times) ==
            LongestPathOneFOneB(times.forward, times.backward, times.send));
}

RC_GTEST_PROP(IsfReferenceTest, SamePacksInTheSameOrder, ()) {
  const size_t count = *rc::gen::inRange<size_t>(0, 120);
  std::vector<SampleLength> samples;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < count; ++i) {
    pairs.emplace_back(*rc::gen::inRange<int64_t>(0, 8), *rc::gen::inRange<int64_t>(1, 40));
    samples.push_back({pairs.back().first, pairs.back().second});
  }
  const int64_t units = *rc::gen::inRange<int64_t>(0, 12),
                tokens = *rc::gen::inRange<int64_t>(8, 60);
  const int64_t keep = *rc::gen::inRange<int64_t>(1, tokens + 1);
  const int64_t iterations = *rc::gen::inRange<int64_t>(0, 12);
  const uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  RC_ASSERT(PackByIsf(samples, {units, tokens, units, keep, iterations, seed}) ==
            NaiveIsf(pairs, {units, tokens, units, keep, iterations, seed}));
}

}  // namespace
}  // namespace evenkeel::planner::reference
