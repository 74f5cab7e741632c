#include "planner/cost/host_memory.h"
#include "planner/base/units.h"

#include <gtest/gtest.h>

#include "planner/base/integers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kPack{.units = 9, .tokens = 4096};

TEST(HostMemoryTest, ByHand) {
  const HostMemory memory = HostMemoryOf(QuickstartJob(), 8, 10'000'000'000, kPack);
  EXPECT_EQ(memory.processes, 48 * kGiB);
  EXPECT_EQ(memory.checkpoint, 80'000'000'000);
  // 9 tiles of 1024 patches of 14 x 14 pixels, and 4096 tokens: 8 ranks x 4 workers x 2 packs.
  const int64_t pack = 9 * 1024 * 14 * 14 * 12 + 4096 * 32;
  EXPECT_EQ(memory.data_loading, 2 * 8 * 4 * 2 * pack);
  EXPECT_EQ(memory.shared_memory, 8 * 4 * 2 * pack + kGiB);  // with NCCL's 1 GiB for eight GPUs
  EXPECT_EQ(memory.total(), memory.processes + memory.checkpoint + memory.data_loading);
}

TEST(HostMemoryTest, TextNeedsLittleForLoading) {
  const HostMemory text =
      HostMemoryOf(TextJob("llama3-8b", "h100-sxm-80gb", 8), 8, 0, {.tokens = 8192});
  EXPECT_LT(text.data_loading, kGiB);
  EXPECT_EQ(text.checkpoint, 0);
  // /dev/shm has what NCCL needs even if packs are short.
  EXPECT_GE(text.shared_memory, kGiB);
}

}  // namespace
}  // namespace evenkeel::planner
