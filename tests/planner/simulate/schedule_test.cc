#include "planner/simulate/schedule.h"
#include "planner/simulate/merged_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tests/planner/simulate/pipelines.h"

namespace evenkeel::planner {
namespace {

// Returns the order as text. "F0.1" is the forward of chunk 0, micro-batch 1.
std::string Text(const PipelineShape& shape, int64_t stage) {
  std::string text;
  for (const Pass& pass : StageOrder(shape, stage)) {
    EXPECT_EQ(pass.stage, stage);
    text += (text.empty() ? "" : " ") + std::string(1, "FBW"[static_cast<size_t>(pass.kind)]) +
            (shape.chunks > 1 ? std::to_string(pass.chunk) + "." : "") +
            std::to_string(pass.micro_batch);
  }
  return text;
}

TEST(StageOrderTest, OneFOneB) {
  const PipelineShape shape = {Schedule::kOneFOneB, 3, 1, 4};
  EXPECT_EQ(Text(shape, 0), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(Text(shape, 1), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(Text(shape, 2), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(StageOrderTest, FewerMicroBatchesThanStages) {
  EXPECT_EQ(Text({Schedule::kOneFOneB, 5, 1, 2}, 0), "F0 F1 B0 B1");
  EXPECT_EQ(Text({Schedule::kOneFOneB, 5, 1, 2}, 3), "F0 F1 B0 B1");
  EXPECT_EQ(Text({Schedule::kOneFOneB, 5, 1, 2}, 4), "F0 B0 F1 B1");
}

// Compares with the paper's figure 4 (Narayanan 2021): 4 devices, 2 chunks and 8 micro-batches.
// These are its devices 1 and 4. Numbers start at 0 here, and chunk 1 is the figure's dark half.
TEST(StageOrderTest, InterleavedAsPublished) {
  const PipelineShape shape = {Schedule::kInterleaved, 4, 2, 8};
  EXPECT_EQ(Text(shape, 0).substr(0, 69),
            "F0.0 F0.1 F0.2 F0.3 F1.0 F1.1 F1.2 F1.3 F0.4 F0.5 F0.6 B1.0 F0.7 B1.1");
  EXPECT_EQ(Text(shape, 3).substr(0, 49), "F0.0 F0.1 F0.2 F0.3 F1.0 B1.0 F1.1 B1.1 F1.2 B1.2");
}

// This is the example in Megatron-LM's schedules.py: PP 2, VP 2, 5 micro-batches in groups of 3.
TEST(StageOrderTest, InterleavedWithARest) {
  EXPECT_EQ(MicroBatchGroup(2, 5), 3);
  std::string forwards;
  for (const Pass& pass : StageOrder({Schedule::kInterleaved, 2, 2, 5}, 1)) {
    if (pass.kind != PassKind::kForward) continue;
    forwards += std::to_string(pass.chunk) + std::to_string(pass.micro_batch) + " ";
  }
  EXPECT_EQ(forwards, "00 01 02 10 11 12 03 04 13 14 ");
}

TEST(StageOrderTest, GPipe) {
  EXPECT_EQ(Text({Schedule::kGPipe, 3, 1, 3}, 1), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(Text({Schedule::kGPipe, 2, 2, 2}, 0), "F0.0 F0.1 F1.0 F1.1 B1.0 B1.1 B0.0 B0.1");
}

// Compares with figure 3 of Qi 2023, its devices 1 and 4 of 4. The micro-batches are numbered from
// 0.
TEST(StageOrderTest, ZeroBubbleH1AsPublished) {
  const PipelineShape shape = {Schedule::kZeroBubble, 4, 1, 8};
  EXPECT_EQ(Text(shape, 0),
            "F0 F1 F2 F3 B0 W0 F4 B1 W1 F5 B2 W2 F6 B3 W3 F7 B4 W4 B5 W5 B6 W6 B7 W7");
  EXPECT_EQ(Text(shape, 3),
            "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 F5 B5 W2 F6 B6 W3 F7 B7 W4 W5 W6 W7");
}

TEST(MicroBatchGroupTest, IsTheLeastThatMegatronAccepts) {
  EXPECT_EQ(MicroBatchGroup(4, 8), 4);
  EXPECT_EQ(MicroBatchGroup(4, 9), 5);   // 5 + 4
  EXPECT_EQ(MicroBatchGroup(4, 13), 7);  // 7 + 6
  EXPECT_EQ(MicroBatchGroup(4, 3), 3);
  EXPECT_EQ(MicroBatchGroup(1, 7), 1);
  for (int64_t stages = 1; stages <= 16; ++stages) {
    for (int64_t m = stages; m <= 100; ++m) {
      const int64_t group = MicroBatchGroup(stages, m);
      ASSERT_TRUE(group >= stages && group <= m);
      ASSERT_TRUE(m % group == 0 || m % group >= stages);
    }
  }
}

// Every pass occurs once, after those it waits for.
TEST(WorkOrderTest, IsCompleteAndCausal) {
  for (const Schedule schedule : kSchedules) {
    for (int64_t stages = 1; stages <= 9; ++stages) {
      for (int64_t chunks = 1; chunks <= (HasChunks(schedule) ? 5 : 1); ++chunks) {
        for (int64_t m = 1; m <= 3 * stages + 2; ++m) {
          const PipelineShape shape = {schedule, stages, chunks, m};
          std::set<std::tuple<PassKind, int64_t, int32_t>> done;
          std::map<int32_t, std::vector<Pass>> by_stage;
          for (const Pass& pass : WorkOrder(shape)) {
            const int64_t q = shape.virtual_stage(pass.stage, pass.chunk), k = pass.micro_batch;
            const auto has = [&](PassKind kind, int64_t at) {
              return done.count({kind, at, static_cast<int32_t>(k)}) > 0;
            };
            if (pass.kind == PassKind::kForward) {
              ASSERT_TRUE(q == 0 || has(PassKind::kForward, q - 1));
            } else if (pass.kind == PassKind::kBackward) {
              ASSERT_TRUE(has(PassKind::kForward, q));
              ASSERT_TRUE(q + 1 == stages * chunks || has(PassKind::kBackward, q + 1));
            } else {
              ASSERT_TRUE(has(PassKind::kBackward, q));
            }
            ASSERT_TRUE(done.insert({pass.kind, q, pass.micro_batch}).second);
            by_stage[pass.stage].push_back(pass);
          }
          const int64_t kinds = schedule == Schedule::kZeroBubble ? 3 : 2;
          ASSERT_EQ(static_cast<int64_t>(done.size()), kinds * stages * chunks * m)
              << stages << " stages, " << chunks << " chunks, " << m << " micro-batches";
          for (const auto& [s, order] : by_stage) ASSERT_EQ(order, StageOrder(shape, s));
        }
      }
    }
  }
}

TEST(InFlightTest, KnownCounts) {
  EXPECT_EQ(MostInFlight({Schedule::kOneFOneB, 4, 1, 64}, 0), (InFlight{4, 0}));
  EXPECT_EQ(MostInFlight({Schedule::kOneFOneB, 4, 1, 64}, 3), (InFlight{1, 0}));
  EXPECT_EQ(MostInFlight({Schedule::kOneFOneB, 4, 1, 2}, 0), (InFlight{2, 0}));
  // The formula is (P - s - 1) x 2 + (v - 1) x P + 1.
  EXPECT_EQ(MostInFlight({Schedule::kInterleaved, 4, 3, 64}, 0), (InFlight{15, 0}));
  EXPECT_EQ(MostInFlight({Schedule::kInterleaved, 4, 3, 64}, 3), (InFlight{9, 0}));
  EXPECT_EQ(MostInFlight({Schedule::kInterleaved, 4, 3, 4}, 0), (InFlight{12, 0}));
  EXPECT_EQ(MostInFlight({Schedule::kGPipe, 4, 2, 10}, 2), (InFlight{20, 0}));
  // No stage holds more than 1F1B's first stage.
  EXPECT_EQ(MostInFlight({Schedule::kZeroBubble, 4, 1, 64}, 0), (InFlight{4, 0}));
  EXPECT_EQ(MostInFlight({Schedule::kZeroBubble, 4, 1, 64}, 3), (InFlight{1, 3}));
}

// Counts along the orders themselves.
TEST(InFlightTest, IsWhatTheOrdersHold) {
  for (const Schedule schedule : kSchedules) {
    for (int64_t stages = 1; stages <= 6; ++stages) {
      for (int64_t chunks = 1; chunks <= (HasChunks(schedule) ? 4 : 1); ++chunks) {
        for (int64_t m = 1; m <= 20; ++m) {
          const PipelineShape shape = {schedule, stages, chunks, m};
          for (int64_t s = 0; s < stages; ++s) {
            InFlight now, most;
            for (const Pass& pass : StageOrder(shape, s)) {
              if (pass.kind == PassKind::kForward) ++now.whole;
              most.whole = std::max(most.whole, now.whole);
              most.weight_gradient =
                  std::max(most.weight_gradient, now.whole + now.weight_gradient);
              if (pass.kind == PassKind::kBackward) {
                --now.whole;
                now.weight_gradient += schedule == Schedule::kZeroBubble ? 1 : 0;
              } else if (pass.kind == PassKind::kWeightGradient) {
                --now.weight_gradient;
              }
            }
            const InFlight formula = MostInFlight(shape, s);
            ASSERT_EQ(formula.whole, most.whole);
            ASSERT_EQ(formula.whole + formula.weight_gradient, most.weight_gradient)
                << stages << " stages, " << m << " micro-batches, stage " << s;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
