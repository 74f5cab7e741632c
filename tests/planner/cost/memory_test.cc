#include "planner/cost/memory.h"
#include "planner/base/units.h"

#include <gtest/gtest.h>

#include "planner/base/integers.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

TEST(MemoryTest, EightyGigabyteGpuHas79Point2GiB) {
  const Cluster cluster = ClusterOf("a100-sxm-80gb", 8);
  EXPECT_NEAR(static_cast<double>(CapacityBytes(cluster)) / kGiB, 79.2, 1e-3);
  Cluster kept = cluster;
  kept.reserved_bytes = 3 * kGiB;
  EXPECT_EQ(CapacityBytes(kept), CapacityBytes(cluster) - 3 * kGiB);
}

TEST(MemoryTest, AllocatableIsTheLargestThatFits) {
  Cluster cluster = ClusterOf("a100-sxm-80gb", 8);
  for (int64_t left = 1; left < 2000; ++left) {
    cluster.reserved_bytes = 0;
    cluster.reserved_bytes =
        CapacityBytes(cluster) - FrameworkBytes() - CommunicationBytes() - left;
    const int64_t a = AllocatableBytes(cluster);
    ASSERT_LE(a + AllocatorReserve(a), left);
    ASSERT_GT(a + 1 + AllocatorReserve(a + 1), left);
  }
  cluster.reserved_bytes = 0;
  const int64_t a = AllocatableBytes(cluster);
  const int64_t left = CapacityBytes(cluster) - FrameworkBytes() - CommunicationBytes();
  EXPECT_LE(a + AllocatorReserve(a), left);
  EXPECT_GT(a + 1 + AllocatorReserve(a + 1), left);
}

TEST(MemoryTest, NothingCanBeAllocatedOnAGpuThatIsKeptFree) {
  Cluster cluster = ClusterOf("a100-sxm-80gb", 8);
  cluster.reserved_bytes = 79 * kGiB;
  EXPECT_LT(AllocatableBytes(cluster), 0);
  cluster.reserved_bytes = 500 * kGiB;
  EXPECT_LT(AllocatableBytes(cluster), 0);
}

}  // namespace
}  // namespace evenkeel::planner
