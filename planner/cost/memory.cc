#include "planner/cost/memory.h"

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kFrameworkBytes = kGiB;
constexpr int64_t kCommunicationBytes = kGiB;
constexpr int64_t kReservePerMille = 43;
constexpr int64_t kUsablePercent = 99;

}  // namespace

int64_t FrameworkBytes() { return kFrameworkBytes; }

int64_t CommunicationBytes() { return kCommunicationBytes; }

int64_t AllocatorReserve(int64_t allocated) {
  return CeilDivide(allocated * kReservePerMille, 1000);
}

int64_t CapacityBytes(const Cluster& cluster) {
  return cluster.gpu.memory_bytes / 100 * kUsablePercent - cluster.reserved_bytes;
}

int64_t AllocatableBytes(const Cluster& cluster) {
  const int64_t left = CapacityBytes(cluster) - kFrameworkBytes - kCommunicationBytes;
  if (left < 0) return -1;
  // The largest a with a + AllocatorReserve(a) <= left.
  int64_t allocatable = left / (1000 + kReservePerMille) * 1000;
  while (allocatable + 1 + AllocatorReserve(allocatable + 1) <= left) ++allocatable;
  return allocatable;
}

}  // namespace evenkeel::planner
