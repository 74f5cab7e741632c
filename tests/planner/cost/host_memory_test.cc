#include "planner/cost/host_memory.h"
#include "planner/base/units.h"

#include <gtest/gtest.h>

#include "planner/base/integers.h"
#include "planner/cost/layer_cost.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr PackShape kHostPack{.units = 9, .tokens = 4096};

TEST(HostMemoryTest, ByHand) {
  const HostMemory memory = HostMemoryOf(QuickstartJob(), 8, 10'000'000'000, kHostPack);
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

// 10^9 parameters of a rank: fp32 gradients down, 16-bit weights up, 30 bytes of memory each.
TEST(HostMemoryTest, UpdateByHand) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  job.cluster.host_link_bytes_per_second = 50e9;
  job.cluster.host_memory_bytes_per_second = 800e9;
  const double down = 4 / 50.0, up = 2 / 50.0, update = 30 / (0.45 * 100);
  EXPECT_NEAR(HostUpdateTime(job, 1e9), 1e9 * update, 1);
  job.cluster.host_memory_bytes_per_second = 80'000e9;
  EXPECT_NEAR(HostUpdateTime(job, 1e9), 1e9 * down, 1);
  job.training.trainer = FindTrainer("deepspeed");  // one after the other
  EXPECT_NEAR(HostUpdateTime(job, 1e9), 1e9 * (down + up + update / 100), 1);
  job.training.distributed_gradients_fp32 = false;
  EXPECT_NEAR(HostUpdateTime(job, 1e9), 1e9 * (down / 2 + up + update / 100), 1);
  EXPECT_EQ(HostUpdateTime(job, 0), 0);
}

// ZeRO-Offload, arXiv 2101.06840, table 4: Adam of 10^10 parameters on a DGX-2's host.
TEST(HostMemoryTest, UpdateAsPublished) {
  Job job = TextJob("llama3-8b", "v100-sxm2-32gb", 1);
  job.cluster.host_memory_bytes_per_second = 256e9;
  job.cluster.host_link_bytes_per_second = 1e13;
  EXPECT_NEAR(HostUpdateTime(job, 1e10), 2.57e9, 0.05e9);
}

TEST(HostMemoryTest, UsualHostsFollowTheTypeAndItsLink) {
  const auto host = [](const char* gpu, int64_t gpus) { return HostOf(ClusterOf(gpu, gpus)); };
  EXPECT_NEAR(host("a100-sxm-80gb", 8).link_bytes_per_second, 25.2e9, 1e6);
  EXPECT_NEAR(host("h100-sxm-80gb", 8).link_bytes_per_second, 50.4e9, 1e6);
  EXPECT_GT(host("gh200-96gb", 1).link_bytes_per_second, 300e9);
  EXPECT_GT(host("gh200-96gb", 1).link_bytes_per_second,
            host("gb200-186gb", 4).link_bytes_per_second);
  EXPECT_EQ(host("h100-sxm-80gb", 4).memory_bytes, host("h100-sxm-80gb", 8).memory_bytes / 2);
  Cluster given = ClusterOf("h100-sxm-80gb", 8);
  given.host_memory_bytes = kGiB;
  EXPECT_EQ(HostOf(given).memory_bytes, kGiB);
  EXPECT_EQ(HostOf(given).link_bytes_per_second, host("h100-sxm-80gb", 8).link_bytes_per_second);
}

TEST(HostMemoryTest, BindsOnlyWhereItIsStatedOrUsed) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 8);
  EXPECT_EQ(HostRoom(job, {.tokens = 8192}), kNoHostLimit);
  job.cluster.host_memory_bytes = 500 * kGiB;
  const int64_t room = HostRoom(job, {.tokens = 8192});
  EXPECT_LT(room, 500 * kGiB / 8 - 6 * kGiB);
  EXPECT_GT(room, 500 * kGiB / 8 - 7 * kGiB);
  job.cluster.host_memory_bytes = 1 * kGiB;  // less than the processes take
  const int64_t lacking = -HostRoom(job, {.tokens = 8192});
  EXPECT_GT(lacking, 5 * kGiB);  // of the 6 GiB of a process, an eighth of what there is
  EXPECT_LT(lacking, 7 * kGiB);
}

}  // namespace
}  // namespace evenkeel::planner
