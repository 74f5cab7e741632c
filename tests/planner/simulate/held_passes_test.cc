#include "planner/simulate/held_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace evenkeel::planner {
namespace {

// Counts along the whole order.
std::vector<int64_t> MostHeldInOrder(const PipelineShape& shape, int64_t stage) {
  std::vector<int64_t> held(static_cast<size_t>(shape.chunks)), most(held.size());
  for (const Pass& pass : StageOrder(shape, stage)) {
    const size_t chunk = static_cast<size_t>(pass.chunk);
    held[chunk] += pass.kind == PassKind::kForward ? 1 : -1;
    most[chunk] = std::max(most[chunk], held[chunk]);
  }
  return most;
}

TEST(MostHeldTest, InterleavedIsWhatTheOrdersHold) {
  for (int64_t stages = 1; stages <= 6; ++stages) {
    for (int64_t chunks = 1; chunks <= 5; ++chunks) {
      for (int64_t m = 1; m <= 10 * stages + 3; ++m) {
        const PipelineShape shape{Schedule::kInterleaved, stages, chunks, m};
        for (int64_t s = 0; s < stages; ++s)
          ASSERT_EQ(MostHeld(shape, s), MostHeldInOrder(shape, s))
              << stages << " stages, " << chunks << " chunks, " << m << " packs, stage " << s;
      }
    }
  }
}

// For all sizes of chunks, the fullest of the peaks is the fullest moment of the order.
TEST(PeaksHeldTest, TheFullestOfThemIsThatOfTheOrder) {
  const std::vector<std::vector<int64_t>> kept_bytes = {{1, 1, 1}, {5, 1, 0}, {0, 1, 5},
                                                        {0, 3, 0}, {2, 0, 7}, {0, 0, 0}};
  for (int64_t stages = 1; stages <= 5; ++stages) {
    for (int64_t m = 1; m <= 4 * stages + 3; ++m) {
      const PipelineShape shape{Schedule::kInterleaved, stages, 3, m};
      for (int64_t s = 0; s < stages; ++s) {
        const std::vector<std::vector<int64_t>> peaks = PeaksHeld(shape, s);
        for (const std::vector<int64_t>& kept : kept_bytes) {
          int64_t now = 0, most = 0, found = 0;
          for (const Pass& pass : StageOrder(shape, s)) {
            const int64_t bytes = kept[static_cast<size_t>(pass.chunk)];
            now += pass.kind == PassKind::kForward ? bytes : -bytes;
            most = std::max(most, now);
          }
          const std::vector<int64_t>& held = FullestMoment(peaks, kept);
          for (size_t c = 0; c < held.size(); ++c) found += held[c] * kept[c];
          ASSERT_EQ(found, most) << stages << " stages, " << m << " packs, stage " << s;
        }
      }
    }
  }
}

TEST(ForwardsOfTest, CountsAlongTheOrder) {
  for (int64_t stages = 1; stages <= 5; ++stages) {
    for (int64_t chunks = 1; chunks <= 4; ++chunks) {
      for (int64_t m = 1; m <= 3 * stages + 2; ++m) {
        const PipelineShape shape{Schedule::kInterleaved, stages, chunks, m};
        std::vector<int64_t> forwards(static_cast<size_t>(chunks)), backwards(forwards.size());
        int64_t forward = 0, backward = 0;
        for (const Pass& pass : StageOrder(shape, stages - 1)) {
          const bool is_forward = pass.kind == PassKind::kForward;
          std::vector<int64_t>& of_chunk = is_forward ? forwards : backwards;
          const int64_t count = ++(is_forward ? forward : backward);
          ++of_chunk[static_cast<size_t>(pass.chunk)];
          for (int64_t c = 0; c < chunks; ++c)
            ASSERT_EQ(ForwardsOf(shape, is_forward ? c : chunks - 1 - c, count),
                      of_chunk[static_cast<size_t>(c)])
                << stages << " stages, " << chunks << " chunks, " << m << " packs";
        }
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
