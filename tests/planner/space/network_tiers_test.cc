// Tiers of the network beyond the node: which ranks share a unit, against counting them one by one,
// and what plans make of it.
#include "planner/space/network_tiers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "planner/cost/network.h"
#include "planner/make_plan.h"
#include "planner/space/degrees.h"
#include "planner/space/dispatcher_reach.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

// Racks of 18 nodes of 4, of whose GPUs a job may use so many.
Cluster Racks(int64_t gpus, int64_t usable = 72) {
  Cluster cluster = ClusterOf("gb200-186gb", gpus);
  cluster.gpus_per_node = std::min<int64_t>(4, gpus);
  cluster.gpus_per_full_node = 4;
  cluster.inter_node_bytes_per_second = 50e9;
  cluster.domain = DomainOf(cluster.gpu, 4);
  cluster.domain.usable = usable;
  return cluster;
}

Cluster InPods(Cluster cluster, int64_t gpus, double oversubscription) {
  cluster.pod = {"pod", gpus, gpus};
  cluster.inter_pod_bytes_per_second = cluster.inter_node_bytes_per_second / oversubscription;
  return cluster;
}

// Returns the cluster with nodes of a whole domain.
Cluster AsNodes(Cluster cluster) {
  cluster.gpus_per_node = cluster.gpus_per_full_node = DomainGpus(cluster);
  cluster.domain = {};
  return cluster;
}

TEST(NetworkTiersTest, DomainsAreEqualAndOfWholeNodes) {
  EXPECT_EQ(Racks(512).domain.gpus, 72);
  const std::map<int64_t, int64_t> domains = {{4, 4},    {8, 8},     {72, 72},  {76, 4},
                                              {92, 4},   {96, 48},   {144, 72}, {256, 64},
                                              {512, 64}, {1152, 72}, {2, 2},    {68, 68}};
  for (const auto& [gpus, domain] : domains) EXPECT_EQ(DomainGpus(Racks(gpus)), domain) << gpus;
  EXPECT_EQ(DomainGpus(Racks(1152, 64)), 64);
  EXPECT_EQ(DomainGpus(Racks(96, 64)), 48);
  // Types whose link ends with the node have no domain, nor have nodes of a whole rack.
  EXPECT_EQ(DomainOf(ClusterOf("h100-sxm-80gb", 64).gpu, 8).gpus, 0);
  EXPECT_EQ(DomainOf(Racks(72).gpu, 72).gpus, 0);
  EXPECT_EQ(DomainGpus(ClusterOf("h100-sxm-80gb", 64)), 8);
}

TEST(NetworkTiersTest, WholeUnits) {
  Cluster cluster = InPods(Racks(64, 64), 256, 2);
  EXPECT_EQ(GpusOfWholeUnits(cluster, 100), 100);  // nothing says that units must be filled
  cluster.domain.filled = true;
  EXPECT_EQ(GpusOfWholeUnits(cluster, 60), 60);
  EXPECT_EQ(GpusOfWholeUnits(cluster, 64), 64);
  EXPECT_EQ(GpusOfWholeUnits(cluster, 68), 128);
  EXPECT_EQ(GpusOfWholeUnits(cluster, 260), 320);
  cluster.pod.filled = true;
  EXPECT_EQ(GpusOfWholeUnits(cluster, 130), 192);
  EXPECT_EQ(GpusOfWholeUnits(cluster, 260), 512);
}

TEST(NetworkTiersTest, PodsHoldWholeDomains) {
  EXPECT_EQ(PodGpus(Racks(1024)), 1024);
  EXPECT_EQ(PodGpus(InPods(Racks(1024, 64), 512, 2)), 512);
  EXPECT_EQ(PodGpus(InPods(Racks(512, 64), 512, 2)), 512);
  EXPECT_EQ(PodGpus(InPods(Racks(640, 64), 512, 2)), 320);
  EXPECT_EQ(PodGpus(InPods(ClusterOf("h100-sxm-80gb", 2048), 256, 2)), 256);
}

// Returns the least number of ranks that a unit has of a group, if it has any. Groups are blocks of
// ranks x stride ranks side by side, in which every stride-th rank belongs together.
int64_t LeastInAUnit(int64_t gpus, int64_t ranks, int64_t stride, int64_t unit) {
  int64_t least = ranks;
  for (int64_t block = 0; block + ranks * stride <= gpus; block += ranks * stride) {
    for (int64_t offset = 0; offset < stride; ++offset) {
      std::map<int64_t, int64_t> counts;
      for (int64_t i = 0; i < ranks; ++i) ++counts[(block + offset + i * stride) / unit];
      for (const auto& [number, count] : counts) least = std::min(least, count);
    }
  }
  return least;
}

TEST(NetworkTiersTest, GroupsShareUnitsAsCountedRankByRank) {
  for (const int64_t usable : {64, 72}) {
    const Cluster cluster = InPods(Racks(1152, usable), usable * 3, 2);
    const int64_t domain = DomainGpus(cluster), pod = PodGpus(cluster);
    ASSERT_EQ(domain, usable);
    const Network network(cluster);
    for (const int64_t tensor : {1, 2, 4, 8}) {
      for (const int64_t context : {2, 3, 4, 6, 8, 12, 16, 18, 32, 36, 48, 64, 72, 96, 144}) {
        if (1152 % (tensor * context) != 0) continue;
        const RankGroup group = network.ContextGroup({.tensor = tensor, .context = context});
        const int64_t in_domain = LeastInAUnit(1152, context, tensor, domain);
        const int64_t in_pod = LeastInAUnit(1152, context, tensor, pod);
        const auto said = [&](int64_t ranks) { return ranks == 0 ? context : ranks; };
        EXPECT_EQ(group.ranks_per_node, in_domain) << usable << " " << tensor << " " << context;
        EXPECT_EQ(said(group.ranks_per_pod), in_pod) << usable << " " << tensor << " " << context;
      }
    }
  }
}

TEST(NetworkTiersTest, ADomainIsAsGoodAsANode) {
  for (const int64_t gpus : {128, 144}) {
    const Cluster racks = Racks(gpus), nodes = AsNodes(racks);
    const Network a(racks), b(nodes);
    for (const int64_t tensor : {1, 4, 8}) {
      const Parallelism p{.tensor = tensor, .pipeline = 2, .data = gpus / 2 / tensor};
      EXPECT_EQ(a.DataGroup(p), b.DataGroup(p));
      EXPECT_EQ(a.StageSend(p, 0, 1 << 24), b.StageSend(p, 0, 1 << 24));
    }
    Job job = WholeSpace(TextJob("llama3-8b", "gb200-186gb", gpus));
    job.cluster = racks;
    const PlanResult spanning = MakePlan(job, {});
    job.cluster = nodes;
    const PlanResult inside = MakePlan(job, {});
    EXPECT_EQ(spanning.plan.parallelism, inside.plan.parallelism);
    EXPECT_EQ(spanning.plan.prediction.step.total_ns, inside.plan.prediction.step.total_ns);
    EXPECT_EQ(spanning.plan.placement.gpus_per_node, 4);
    ASSERT_EQ(spanning.plan.placement.tiers.size(), 1U);
    EXPECT_EQ(spanning.plan.placement.tiers[0].ranks, nodes.gpus_per_node);
    EXPECT_EQ(spanning.plan.placement.tiers[0].units, gpus / nodes.gpus_per_node);
    EXPECT_TRUE(inside.plan.placement.tiers.empty());
  }
}

TEST(NetworkTiersTest, TensorParallelStaysInADomain) {
  Job job = WholeSpace(TextJob("llama3-8b", "gb200-186gb", 1152));
  const auto widest = [&] {
    int64_t most = 0;
    ForEachDegrees(job, [&](const Parallelism& p, const DegreeRange&) {
      most = std::max(most, p.tensor);
      return true;
    });
    return most;
  };
  job.cluster = Racks(1152, 64);
  EXPECT_EQ(widest(), 32);  // the heads
  job.cluster = Racks(1152, 72);
  EXPECT_EQ(widest(), 8);  // 16 ranks would lie across the border of two racks
  job.cluster.domain = {};
  EXPECT_EQ(widest(), 4);
}

TEST(NetworkTiersTest, ADispatcherWithoutTransportStaysInADomain) {
  Job job = TextJob("qwen3-30b-a3b", "gb200-186gb", 1152);
  job.training.execution.dispatcher = Dispatcher::kHybridEp;
  job.cluster = Racks(1152, 64);
  job.cluster.fabric = Fabric::kEfa;
  EXPECT_TRUE(DispatcherReaches(job, 64));
  EXPECT_FALSE(DispatcherReaches(job, 128));
  job.cluster.domain.usable = 72;
  EXPECT_TRUE(DispatcherReaches(job, 8));
  EXPECT_FALSE(DispatcherReaches(job, 16));
  job.cluster.fabric = Fabric::kRdma;
  EXPECT_TRUE(DispatcherReaches(job, 128));
}

TEST(NetworkTiersTest, ScarceBandwidthBetweenPodsByHand) {
  const Cluster flat = ClusterOf("h100-sxm-80gb", 64);  // 12.5 GB/s between nodes
  const Network network(InPods(flat, 32, 4));
  const double rate = 12.5 / 4 * 0.85;  // of a GPU between pods, in bytes per ns
  const Parallelism all{.tensor = 1, .pipeline = 1, .data = 64};
  const RankGroup data = network.DataGroup(all);
  EXPECT_EQ(data, (RankGroup{64, 8, 32}));
  // A ring crosses the border of a pod a few times: 32 ranks share it.
  const double hops = 7 * 5e3 + 56 * 1e3;
  EXPECT_NEAR(network.GroupCollective(Collective::kAllGather, data, 1e9),
              63.0 / 64 * 1e9 / (8 * 12.5 * 0.85) + hops, 1);
  // With one rank of a group in a pod, it is the pod's border that is slow.
  const RankGroup few = network.DataGroup({.tensor = 8, .pipeline = 1, .data = 8});
  EXPECT_EQ(few, (RankGroup{8, 1, 4}));
  EXPECT_NEAR(network.GroupCollective(Collective::kAllReduce, few, 1e9),
              2 * (7.0 / 8 * 1e9 / std::min(12.5 * 0.85, 4 * rate) + 7 * 5e3), 1);
  const RankGroup pair{2, 1, 1};
  EXPECT_NEAR(network.GroupCollective(Collective::kAllGather, pair, 1e9), 0.5 * 1e9 / rate + 5e3,
              1);
  // In an all-to-all, half of the bytes leave the pod.
  EXPECT_NEAR(network.GroupCollective(Collective::kAllToAll, data, 1e9), 20e3 + 0.5e9 / rate, 1);
  // A stage as large as a pod sends all of its ranks' bytes over the border; a small one has the
  // whole border to itself.
  EXPECT_NEAR(static_cast<double>(network.StageSend({.pipeline = 2, .data = 32}, 0, 100'000'000)),
              20e3 + 1e8 / rate, 1);
  EXPECT_NEAR(static_cast<double>(network.StageSend({.pipeline = 8, .data = 8}, 3, 100'000'000)),
              20e3 + 1e8 / (12.5 * 0.85), 1);
}

TEST(NetworkTiersTest, PodsNeverHelpAndScarcerOnesHelpLess) {
  Job job = WholeSpace(TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 64));
  const int64_t flat = MakePlan(job, {}).plan.prediction.step.total_ns;
  job.cluster = InPods(job.cluster, 16, 1);
  EXPECT_EQ(MakePlan(job, {}).plan.prediction.step.total_ns, flat);
  int64_t before = flat;
  for (const double ratio : {4.0, 40.0}) {
    job.cluster.inter_pod_bytes_per_second = job.cluster.inter_node_bytes_per_second / ratio;
    const int64_t step = MakePlan(job, {}).plan.prediction.step.total_ns;
    EXPECT_GE(step, before) << ratio;
    before = step;
  }
  EXPECT_GT(before, flat);
}

}  // namespace
}  // namespace evenkeel::planner
