#include "planner/cost/network.h"

#include <gtest/gtest.h>

#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

TEST(NetworkTest, StageLinksCrossNodesWhereTheRanksSay) {
  const Network network(ClusterOf("a100-sxm-80gb", 32));
  // Two stages of 4 ranks share a node, and the next two are on the next node.
  const Parallelism four{.tensor = 2, .pipeline = 8, .data = 2};
  EXPECT_FALSE(network.StageLinkCrossesNodes(four, 0));
  EXPECT_TRUE(network.StageLinkCrossesNodes(four, 1));
  EXPECT_FALSE(network.StageLinkCrossesNodes(four, 2));
  // A stage that fills a node has its neighbour on another node.
  EXPECT_TRUE(network.StageLinkCrossesNodes({.tensor = 8, .pipeline = 4, .data = 1}, 0));
  EXPECT_TRUE(network.StageLinkCrossesNodes({.tensor = 2, .pipeline = 2, .data = 8}, 0));
  EXPECT_TRUE(
      network.StageLinkCrossesNodes({.tensor = 2, .pipeline = 4, .data = 1, .context = 4}, 0));
  // With one rank per stage, seven of eight links stay inside the node.
  const Parallelism one{.tensor = 1, .pipeline = 32, .data = 1};
  for (int64_t s = 0; s + 1 < 32; ++s)
    EXPECT_EQ(network.StageLinkCrossesNodes(one, s), s % 8 == 7) << s;
}

TEST(NetworkTest, GroupsFollowTheOrderOfRanks) {
  const Network network(ClusterOf("a100-sxm-80gb", 128));
  const Parallelism p{.tensor = 2, .pipeline = 2, .data = 16, .context = 2, .expert = 8};
  EXPECT_EQ(network.ContextGroup(p), (RankGroup{2, 2}));
  EXPECT_EQ(network.DataGroup(p), (RankGroup{32, 4}));
  EXPECT_EQ(network.ExpertGroup(p), (RankGroup{8, 8}));
  EXPECT_EQ(network.ExpertGroup(p, 2), (RankGroup{8, 4}));
  EXPECT_EQ(network.ExpertDataGroup(p), (RankGroup{8, 1}));
  EXPECT_EQ(network.ExpertDataGroup(p, 2), (RankGroup{4, 1}));
  const Parallelism wide{.tensor = 8, .pipeline = 1, .data = 4, .context = 4};
  EXPECT_EQ(network.ContextGroup(wide), (RankGroup{4, 1}));
  EXPECT_EQ(network.DataGroup(wide), (RankGroup{16, 1}));
  EXPECT_EQ(network.ExpertGroup(wide), (RankGroup{1, 1}));
}

TEST(NetworkTest, GroupsThatCrossNodesAreNotInsideOne) {
  const Network network(ClusterOf("a100-sxm-80gb", 48));
  // Blocks of six ranks: the second one has ranks 6 to 11, of two nodes of eight.
  EXPECT_EQ(network.DataGroup({.tensor = 2, .pipeline = 8, .data = 3}), (RankGroup{3, 1}));
  EXPECT_EQ(network.DataGroup({.tensor = 1, .pipeline = 8, .data = 6}), (RankGroup{6, 2}));
  EXPECT_EQ(network.DataGroup({.tensor = 2, .pipeline = 4, .data = 6}), (RankGroup{6, 2}));
  EXPECT_EQ(network.ContextGroup({.tensor = 2, .pipeline = 8, .data = 1, .context = 3}),
            (RankGroup{3, 1}));
  EXPECT_EQ(network.ExpertGroup({.tensor = 1, .pipeline = 2, .data = 24, .expert = 6}),
            (RankGroup{6, 2}));
  // Inside the only node, nothing is crossed.
  const Network alone(ClusterOf("a100-sxm-80gb", 8));
  EXPECT_EQ(alone.DataGroup({.tensor = 2, .pipeline = 1, .data = 3}), (RankGroup{3, 3}));
}

TEST(NetworkTest, SendByHand) {
  const Cluster cluster = ClusterOf("a100-sxm-80gb", 32);
  const Network network(cluster);
  const Parallelism p{.tensor = 2, .pipeline = 8, .data = 2};
  // Inside a node: half of what a pair exchanges in an all-to-all of 64 MiB.
  EXPECT_EQ(network.StageSend(p, 0, 32 << 20), 243'000);
  const double between = 20e3 + 1e8 / (12.5e9 * 0.85) * 1e9;
  EXPECT_NEAR(static_cast<double>(network.StageSend(p, 1, 100'000'000)), between, 1);
}

TEST(NetworkTest, CollectivesInANodeAreTheTable) {
  Cluster cluster = ClusterOf("a100-sxm-80gb", 32);
  const Network network(cluster);
  const double mib = 1 << 20;
  EXPECT_DOUBLE_EQ(network.NodeCollective(Collective::kAllGather, 8, 64 * mib), 351.6e3);
  EXPECT_DOUBLE_EQ(network.NodeCollective(Collective::kAllReduce, 4, 16 * mib), 183.5e3);
  // The time is interpolated between sizes and between ranks, and extrapolated beyond them.
  EXPECT_DOUBLE_EQ(network.NodeCollective(Collective::kAllToAll, 2, 10 * mib),
                   (38.19e3 + 98.31e3) / 2);
  EXPECT_DOUBLE_EQ(network.NodeCollective(Collective::kReduceScatter, 6, 64 * mib),
                   (303.3e3 + 327.2e3) / 2);
  EXPECT_DOUBLE_EQ(network.NodeCollective(Collective::kAllGather, 2, (512 + 448) * mib),
                   2 * 1790e3 - 266.3e3);
  const auto gather = [&](int64_t ranks, double bytes) {
    return network.NodeCollective(Collective::kAllGather, ranks, bytes);
  };
  EXPECT_EQ(gather(1, 1e8), 0);
  EXPECT_EQ(gather(8, 0), 0);
  EXPECT_LT(gather(8, 1e8), gather(16, 1e8));
  // With half the link, the part beyond the latency takes twice as long.
  cluster.intra_node_bytes_per_second /= 2;
  EXPECT_DOUBLE_EQ(Network(cluster).NodeCollective(Collective::kAllGather, 8, 64 * mib),
                   21.15e3 + 2 * (351.6e3 - 21.15e3));
}

TEST(NetworkTest, CollectivesGrowWithBytesOnEveryGpu) {
  for (const char* gpu : {"a100-sxm-80gb", "h100-sxm-80gb", "b200-sxm-180gb", "a100-pcie-80gb"}) {
    const Network network(ClusterOf(gpu, 8));
    for (const Collective op : {Collective::kAllGather, Collective::kReduceScatter,
                                Collective::kAllReduce, Collective::kAllToAll}) {
      for (const int64_t ranks : {2, 3, 4, 6, 8, 16, 72}) {
        double before = 0;
        for (double bytes = 1000; bytes < 1e10; bytes *= 1.5) {
          const double ns = network.NodeCollective(op, ranks, bytes);
          EXPECT_GE(ns, before) << gpu << " " << ranks << " " << bytes;
          before = ns;
        }
      }
    }
  }
  // The traffic goes over PCIe through the host, not over NVLink.
  const auto gather = [](const char* gpu) {
    return Network(ClusterOf(gpu, 8)).NodeCollective(Collective::kAllGather, 8, 1e8);
  };
  EXPECT_GT(gather("a100-pcie-80gb"), 10 * gather("a100-sxm-80gb"));
}

TEST(NetworkTest, CollectivesAcrossNodesByHand) {
  const Network network(ClusterOf("h100-sxm-80gb", 64));
  const double rate = 12.5e9 * 0.85;
  // 16 ranks, 8 per node: each drives its own part of the network, with one hop between the nodes
  // and 14 inside them.
  const double gather = 15.0 / 16 * 1e9 / (8 * rate) * 1e9 + 5e3 + 14e3;
  EXPECT_NEAR(network.GroupCollective(Collective::kAllGather, {16, 8}, 1e9), gather, 1);
  EXPECT_NEAR(network.GroupCollective(Collective::kAllReduce, {16, 8}, 1e9), 2 * gather, 1);
  // In an all-to-all, half of each rank's buffer crosses.
  EXPECT_NEAR(network.GroupCollective(Collective::kAllToAll, {16, 8}, 1e9),
              20e3 + 0.5e9 / rate * 1e9, 1);
  EXPECT_EQ(network.GroupCollective(Collective::kAllGather, {8, 8}, 1e9),
            network.NodeCollective(Collective::kAllGather, 8, 1e9));
  EXPECT_EQ(network.GroupCollective(Collective::kAllToAll, {1, 1}, 1e9), 0);
  // If the network is faster than NVLink, the ring runs at the node's pace.
  Cluster fast = ClusterOf("h100-sxm-80gb", 64);
  fast.inter_node_bytes_per_second = 1e12;
  EXPECT_NEAR(Network(fast).GroupCollective(Collective::kReduceScatter, {16, 8}, 1e9),
              network.NodeCollective(Collective::kReduceScatter, 8, 1e9) + 19e3, 1);
  // One shared adapter per node.
  CostConstants shared;
  shared.inter_node_sharing = 0;
  EXPECT_NEAR(Network(ClusterOf("h100-sxm-80gb", 64), shared)
                  .GroupCollective(Collective::kAllGather, {16, 8}, 1e9),
              15.0 / 16 * 1e9 / rate * 1e9 + 19e3, 1);
}

}  // namespace
}  // namespace evenkeel::planner
