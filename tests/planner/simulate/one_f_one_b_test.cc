#include "planner/simulate/one_f_one_b.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

PipelineTimes Equal(int64_t stages, int64_t packs, int64_t forward, int64_t backward,
                    int64_t send) {
  PipelineTimes times;
  for (int64_t s = 0; s < stages; ++s) {
    times.forward.emplace_back(static_cast<size_t>(packs), forward);
    times.backward.emplace_back(static_cast<size_t>(packs), backward);
    times.send.push_back(send);
  }
  return times;
}

TEST(OneFOneBTest, EqualStagesTakePacksPlusStagesLessOne) {
  for (int64_t stages = 1; stages <= 6; ++stages) {
    for (int64_t packs = 1; packs <= 12; ++packs) {
      EXPECT_EQ(SimulateOneFOneB(Equal(stages, packs, 3, 5, 0)), (packs + stages - 1) * 8);
    }
  }
}

TEST(OneFOneBTest, OnePackPassesThroughAndBack) {
  PipelineTimes times;
  times.forward = {{1}, {10}, {100}};
  times.backward = {{2}, {20}, {200}};
  times.send = {7, 9, 0};
  EXPECT_EQ(SimulateOneFOneB(times), 333 + 2 * (7 + 9));
}

TEST(OneFOneBTest, TwoStagesByHand) {
  // Stage 0: F0 0-2, F1 2-4; stage 1: F0 3-5, B0 5-8, F1 8-10, B1 10-13; back on stage 0: B0 9-12,
  // B1 14-17.
  EXPECT_EQ(SimulateOneFOneB(Equal(2, 2, 2, 3, 1)), 17);
}

TEST(OneFOneBTest, NeverFasterThanItsBound) {
  Random random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const size_t stages = 1 + random.Below(6);
    const int64_t packs = 1 + static_cast<int64_t>(random.Below(12));
    PipelineTimes times;
    std::vector<int64_t> forward, backward, send;
    for (size_t s = 0; s < stages; ++s) {
      forward.push_back(static_cast<int64_t>(random.Below(30)));
      backward.push_back(static_cast<int64_t>(random.Below(60)));
      send.push_back(s + 1 < stages ? static_cast<int64_t>(random.Below(10)) : 0);
      times.forward.emplace_back(static_cast<size_t>(packs), forward.back());
      times.backward.emplace_back(static_cast<size_t>(packs), backward.back());
    }
    times.send = send;
    const int64_t simulated = SimulateOneFOneB(times);
    ASSERT_GE(simulated, OneFOneBLowerBound(forward, backward, send, packs));
    // And at most one pack after another.
    int64_t sum = 0;
    for (size_t s = 0; s < stages; ++s) sum += forward[s] + backward[s] + 2 * send[s];
    ASSERT_LE(simulated, packs * sum);
  }
}

TEST(OneFOneBTest, BoundIsReachedByEqualStages) {
  EXPECT_EQ(OneFOneBLowerBound({3, 3}, {5, 5}, {0, 0}, 7), SimulateOneFOneB(Equal(2, 7, 3, 5, 0)));
}

}  // namespace
}  // namespace evenkeel::planner
