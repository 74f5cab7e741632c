// --gpus and --pool.
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {
namespace {

v1::Cluster ClusterOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m"});
  CLI::App app;
  JobFlags flags;
  AddJobFlags(&app, &flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return RequestFromFlags(flags).job().cluster();
}

TEST(PoolFlagsTest, SeveralCountsAndPoolsAreOffers) {
  const v1::Cluster counts = ClusterOf({"--gpu", "g", "--gpus", "16,32"});
  EXPECT_EQ(counts.pools(0).gpu_count(), 0);
  EXPECT_EQ(counts.pools(0).gpu_counts_size(), 2);

  const v1::Cluster cluster = ClusterOf({"--gpu", "g", "--gpus", "32", "--pool", "h:8,16@4.5",
                                         "--pool", "k:4", "--gpus-per-node", "4"});
  ASSERT_EQ(cluster.pools_size(), 3);
  EXPECT_EQ(cluster.pools(0).gpu_count(), 32);
  EXPECT_EQ(cluster.pools(1).gpu_type(), "h");
  EXPECT_EQ(cluster.pools(1).gpu_counts(1), 16);
  EXPECT_DOUBLE_EQ(cluster.pools(1).price_per_gpu_hour(), 4.5);
  EXPECT_EQ(cluster.pools(2).gpu_count(), 4);
  EXPECT_EQ(cluster.pools(2).gpus_per_node(), 4);
  EXPECT_EQ(ClusterOf({"--pool", "h:8"}).pools_size(), 1);
  EXPECT_EQ(ClusterOf({"--pool", "h:8,"}).pools(0).gpu_count(), 8);
  const v1::Cluster alone = ClusterOf({"--pool", "h:8", "--gpus-per-node", "4"});
  ASSERT_EQ(alone.pools_size(), 1);
  EXPECT_EQ(alone.pools(0).gpus_per_node(), 4);
  // A price is that of --gpu's type, which is missing.
  EXPECT_EQ(ClusterOf({"--pool", "h:8", "--price", "2"}).pools_size(), 2);
  for (const char* bad : {"h", "h:", "h:,", ":8", "h:8,x", "h:8,,4", "h:0", "h:8@", "h:8@x",
                          "h:8@inf", "h:8@nan", "h@3:8"})
    EXPECT_THROW(ClusterOf({"--pool", bad}), CommandError) << bad;
}

TEST(PoolFlagsTest, OtherPoolsHaveTheSameNodes) {
  const v1::GpuPool other = ClusterOf({"--pool",
                                       "h:8",
                                       "--gpu",
                                       "g",
                                       "--gpus",
                                       "4",
                                       "--gpus-per-node",
                                       "4",
                                       "--inter-node-gbps",
                                       "8",
                                       "--network-fabric",
                                       "efa",
                                       "--reserve-gib",
                                       "1",
                                       "--host-memory-gib",
                                       "8",
                                       "--domain-gpus",
                                       "16",
                                       "--intra-node-gbytes",
                                       "100",
                                       "--power-limit",
                                       "400",
                                       "--price",
                                       "3"})
                                .pools(1);
  // The link inside a node, the power limit and the price are those of the first GPU type.
  v1::GpuPool want;
  want.set_gpu_type("h");
  want.set_gpu_count(8);
  want.set_gpus_per_node(4);
  want.set_inter_node_bytes_per_second(1e9);
  want.set_network_fabric(v1::NETWORK_FABRIC_EFA);
  want.set_reserved_bytes(1 << 30);
  want.set_host_memory_bytes(int64_t{8} << 30);
  want.add_network_tiers()->set_gpu_count(16);
  EXPECT_EQ(other.DebugString(), want.DebugString());
}

}  // namespace
}  // namespace evenkeel::cli
