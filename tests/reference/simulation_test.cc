// The simulator of 1F1B against its slow twin.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "planner/simulate/one_f_one_b.h"
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

}  // namespace
}  // namespace evenkeel::planner::reference
