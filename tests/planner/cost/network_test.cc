#include "planner/cost/network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

TEST(NetworkTest, StageLinksCrossNodesWhereTheRanksSay) {
  const Network network(ClusterOf("a100-sxm-80gb", 32));
  // Two stages of 4 ranks share a node; then the next two lie on the next.
  const Parallelism four{.tensor = 2, .pipeline = 8, .data = 2};
  EXPECT_FALSE(network.StageLinkCrossesNodes(four, 0));
  EXPECT_TRUE(network.StageLinkCrossesNodes(four, 1));
  EXPECT_FALSE(network.StageLinkCrossesNodes(four, 2));
  // A stage that fills a node has its neighbour elsewhere.
  EXPECT_TRUE(network.StageLinkCrossesNodes({.tensor = 8, .pipeline = 4, .data = 1}, 0));
  EXPECT_TRUE(network.StageLinkCrossesNodes({.tensor = 2, .pipeline = 2, .data = 8}, 0));
  // One rank per stage: seven of eight links stay inside.
  const Parallelism one{.tensor = 1, .pipeline = 32, .data = 1};
  for (int64_t s = 0; s + 1 < 32; ++s)
    EXPECT_EQ(network.StageLinkCrossesNodes(one, s), s % 8 == 7) << s;
}

TEST(NetworkTest, SendByHand) {
  const Cluster cluster = ClusterOf("a100-sxm-80gb", 32);
  const Network network(cluster);
  const Parallelism p{.tensor = 2, .pipeline = 8, .data = 2};
  const double inside = 8400 + 1e8 / (cluster.intra_node_bytes_per_second * 0.840) * 1e9;
  const double between = 20e3 + 1e8 / (12.5e9 * 0.85) * 1e9;
  EXPECT_NEAR(static_cast<double>(network.StageSend(p, 0, 100'000'000)), inside, 1);
  EXPECT_NEAR(static_cast<double>(network.StageSend(p, 1, 100'000'000)), between, 1);
}

TEST(NetworkTest, CollectiveByHandAndMonotone) {
  const Cluster cluster = ClusterOf("a100-sxm-80gb", 32);
  const Network network(cluster);
  const double transfer =
      1e8 * (8 - 1 + 0.4) / 8 / (cluster.intra_node_bytes_per_second * 0.840 * 1e-9);
  EXPECT_NEAR(network.NodeCollective(8, 1e8),
              8400 + 720 * 7 + transfer + std::sqrt(28.7e3 * transfer), 1e-3);
  EXPECT_EQ(network.NodeCollective(1, 1e8), 0);
  EXPECT_EQ(network.NodeCollective(8, 0), 0);
  EXPECT_LT(network.NodeCollective(4, 1e8), network.NodeCollective(8, 1e8));
  EXPECT_LT(network.NodeCollective(8, 1e7), network.NodeCollective(8, 1e8));
}

TEST(NetworkTest, DataSyncByTopologyAndSharding) {
  const Network network(ClusterOf("a100-sxm-80gb", 32));
  const auto sync = [&](int64_t tensor, int64_t data, ZeroStage zero) {
    return network.DataSync({.tensor = tensor, .pipeline = 1, .data = data}, 4e9, 2e9, zero);
  };
  EXPECT_EQ(sync(8, 1, ZeroStage::kNone), 0);
  EXPECT_LT(sync(1, 8, ZeroStage::kNone), sync(2, 8, ZeroStage::kNone));  // NVLink or the network
  // Gathering 16-bit weights is half of gathering fp32 gradients.
  EXPECT_LT(sync(8, 4, ZeroStage::kOptimizer), sync(8, 4, ZeroStage::kNone));
  // Four ranks on four nodes: 2 x 3/4 of 4 GB at 0.85 x 12.5 GB/s, and three hops each way.
  const double seconds = 2 * (0.75 * 4e9 / (0.85 * 12.5e9) + 3 * 5e-6);
  EXPECT_NEAR(static_cast<double>(sync(8, 4, ZeroStage::kNone)) * 1e-9, seconds, 1e-6);
}

}  // namespace
}  // namespace evenkeel::planner
