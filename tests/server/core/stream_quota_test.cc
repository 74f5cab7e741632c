#include "server/core/stream_quota.h"

#include <gtest/gtest.h>

#include <utility>

namespace evenkeel::server {
namespace {

TEST(StreamQuota, BoundsStreamsAndBytesAndTakesThemBack) {
  StreamQuota quota(2, 100);
  {
    StreamQuota::Lease one = quota.Admit();
    StreamQuota::Lease two = quota.Admit();
    EXPECT_TRUE(one);
    EXPECT_TRUE(two);
    EXPECT_FALSE(quota.Admit());
    EXPECT_TRUE(one.Resize(60));
    EXPECT_FALSE(two.Resize(41));
    EXPECT_TRUE(two.Resize(40));
    EXPECT_FALSE(one.Resize(61));
    EXPECT_TRUE(one.Resize(10));  // a smaller number is always granted
    EXPECT_EQ(quota.bytes(), 50);
    EXPECT_TRUE(two.Resize(90));
    EXPECT_EQ(quota.streams(), 2);
  }
  EXPECT_EQ(quota.streams(), 0);
  EXPECT_EQ(quota.bytes(), 0);
  EXPECT_TRUE(quota.CanEverHold(100));
  EXPECT_FALSE(quota.CanEverHold(101));
}

TEST(StreamQuota, AMovedLeaseIsGivenBackOnce) {
  StreamQuota quota(1, 100);
  StreamQuota::Lease kept;
  {
    StreamQuota::Lease lease = quota.Admit();
    EXPECT_TRUE(lease.Resize(70));
    kept = std::move(lease);
  }
  EXPECT_EQ(quota.bytes(), 70);
  const StreamQuota::Lease last(std::move(kept));
  EXPECT_EQ(quota.streams(), 1);
}

}  // namespace
}  // namespace evenkeel::server
