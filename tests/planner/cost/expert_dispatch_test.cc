// The time of exchanging rows between experts' ranks by dispatcher, against measured kernels, and
// which dispatcher a plan takes.
#include "planner/cost/expert_dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/cost/memory.h"
#include "planner/evaluate_plan.h"
#include "planner/make_plan.h"
#include "planner/space/degrees.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr double kMicro = 1e3;

// DeepSeek-V3's rows: 4096 of 7168 values, 8 experts each.
RoutedRows Routed(int64_t ranks, int64_t per_node) {
  return {.rows = 4096,
          .row_bytes = 2 * 7168,
          .top_k = 8,
          .group = {.ranks = ranks, .ranks_per_node = per_node}};
}

Cluster On(const char* gpu, int64_t gpus, double between = 50e9, Fabric fabric = Fabric::kRdma) {
  Cluster cluster = ClusterOf(gpu, gpus);
  cluster.inter_node_bytes_per_second = between;
  cluster.fabric = fabric;
  return cluster;
}

double Time(Dispatcher dispatcher, const Cluster& cluster, const RoutedRows& routed) {
  return DispatchTime(dispatcher, Network(cluster), routed);
}

TEST(ExpertDispatchTest, RecordsAreInTheOrderOfTheirValues) {
  for (const DispatcherRecord& record : Dispatchers()) {
    EXPECT_EQ(&RecordOf(record.dispatcher), &record);
    EXPECT_FALSE(record.source.empty()) << record.name;
  }
}

TEST(ExpertDispatchTest, PartsReachedByHand) {
  EXPECT_DOUBLE_EQ(PartsReached(1, 8), 1);
  EXPECT_DOUBLE_EQ(PartsReached(2, 1), 1);
  EXPECT_DOUBLE_EQ(PartsReached(2, 2), 1.5);
  EXPECT_NEAR(PartsReached(8, 8), 5.251, 0.001);
  EXPECT_NEAR(PartsReached(64, 8), 7.576, 0.001);
}

TEST(ExpertDispatchTest, KernelsAsMeasured) {
  struct Case {
    const char* gpu;
    Dispatcher dispatcher;
    RoutedRows routed;
    double us, tolerance;
  };
  // DeepEP's combine with 20 processors in aiconfigurator's tables; over four nodes of 50 GB/s per
  // GPU. HybridEP's with 16, of 308 MB at 531 GB/s, and over 32 ranks at 50 to 53 GB/s.
  const Case cases[] = {
      {"h100-sxm-80gb", Dispatcher::kDeepEp, Routed(8, 8), 983, 0.1},
      {"b200-sxm-180gb", Dispatcher::kDeepEp, Routed(8, 8), 882, 0.1},
      {"h100-sxm-80gb", Dispatcher::kDeepEp, Routed(16, 8), 2099, 0.1},
      {"h100-sxm-80gb", Dispatcher::kDeepEp, Routed(32, 8), 3528, 0.1},
      {"b200-sxm-180gb", Dispatcher::kHybridEp, Routed(8, 8), 581, 0.1},
      {"h100-sxm-80gb", Dispatcher::kHybridEp, Routed(32, 8), 4227, 0.15},
  };
  for (const Case& c : cases) {
    const double us = Time(c.dispatcher, On(c.gpu, 64), c.routed) / kMicro;
    EXPECT_NEAR(us / c.us, 1, c.tolerance) << c.gpu << " " << RecordOf(c.dispatcher).name;
  }
}

TEST(ExpertDispatchTest, NcclsExchangesAreItsCollectives) {
  const Network network(On("h100-sxm-80gb", 32));
  const RoutedRows routed = Routed(32, 8);
  const double bytes = routed.rows * routed.row_bytes;
  EXPECT_EQ(DispatchTime(Dispatcher::kAllToAll, network, routed),
            network.GroupCollective(Collective::kAllToAll, routed.group, 8 * bytes));
  EXPECT_EQ(DispatchTime(Dispatcher::kAllGather, network, routed),
            (network.GroupCollective(Collective::kAllGather, routed.group, 32 * bytes) +
             network.GroupCollective(Collective::kReduceScatter, routed.group, 32 * bytes)) /
                2);
  EXPECT_EQ(DispatchTime(Dispatcher::kDeepEp, network, Routed(1, 1)), 0);
}

// A row that goes to several experts of a node crosses the network once.
TEST(ExpertDispatchTest, DeepEpSavesTheNetworkAndEfaCostsItsStart) {
  const Cluster rdma = On("h100-sxm-80gb", 32), efa = On("h100-sxm-80gb", 32, 50e9, Fabric::kEfa);
  const RoutedRows many = Routed(32, 8);
  RoutedRows few = many;
  few.rows = 128;
  EXPECT_LT(Time(Dispatcher::kDeepEp, rdma, many), 0.6 * Time(Dispatcher::kAllToAll, rdma, many));
  EXPECT_GT(Time(Dispatcher::kDeepEp, efa, few), 2 * Time(Dispatcher::kAllToAll, efa, few));
  // Within a node, what joins nodes does not matter.
  EXPECT_EQ(Time(Dispatcher::kDeepEp, efa, Routed(8, 8)),
            Time(Dispatcher::kDeepEp, rdma, Routed(8, 8)));
}

TEST(ExpertDispatchTest, WhereDispatchersRun) {
  EXPECT_EQ(UnfitFor(Dispatcher::kDeepEp, FindGpu("h100-sxm-80gb")->spec), "");
  EXPECT_EQ(UnfitFor(Dispatcher::kAllToAll, FindGpu("l40s-48gb")->spec), "");
  EXPECT_NE(UnfitFor(Dispatcher::kDeepEp, FindGpu("l40s-48gb")->spec), "");
  EXPECT_NE(UnfitFor(Dispatcher::kHybridEp, FindGpu("h100-pcie-80gb")->spec), "");
  const Cluster efa = On("h100-sxm-80gb", 32, 50e9, Fabric::kEfa);
  EXPECT_TRUE(RunsDispatcher(Dispatcher::kHybridEp, efa, {8, 8}));
  EXPECT_FALSE(RunsDispatcher(Dispatcher::kHybridEp, efa, {16, 8}));
  EXPECT_TRUE(RunsDispatcher(Dispatcher::kDeepEp, efa, {16, 8}));
}

Job Mixture(Dispatcher dispatcher) {
  Job job = TextJob("qwen3-30b-a3b", "h100-sxm-80gb", 32);
  job.cluster.inter_node_bytes_per_second = 50e9;
  job.training.execution.dispatcher = dispatcher;
  return job;
}

constexpr Parallelism kSpreadExperts{.tensor = 1, .pipeline = 1, .data = 32, .expert = 32};
constexpr PackShape kDispatchPack{.units = 0, .tokens = 8192, .squared = 8192.0 * 8192};

double Exchanged(const Job& job) {
  for (const LayerCost& layer :
       BuildLayerProfile(job, kSpreadExperts, kDispatchPack, kDispatchPack).classes)
    if (layer.kind == LayerKind::kMoe) return layer.forward_communication.at(kDispatchPack);
  ADD_FAILURE() << "no layer with experts";
  return 0;
}

TEST(ExpertDispatchTest, TheQuickestIsTakenPerSplit) {
  const double all_to_all = Exchanged(Mixture(Dispatcher::kAllToAll));
  const double deepep = Exchanged(Mixture(Dispatcher::kDeepEp));
  EXPECT_LT(deepep, all_to_all);
  EXPECT_EQ(Exchanged(Mixture(Dispatcher::kLeastTime)), deepep);
  EXPECT_EQ(PlannedDispatcher(Mixture(Dispatcher::kLeastTime), kSpreadExperts, kDispatchPack),
            Dispatcher::kDeepEp);
  // A trainer that has only NCCL stays with it.
  Job other = Mixture(Dispatcher::kLeastTime);
  other.training.trainer = FindTrainer("nanotron");
  EXPECT_EQ(PlannedDispatcher(other, kSpreadExperts, kDispatchPack), Dispatcher::kAllToAll);
}

TEST(ExpertDispatchTest, OverEfaTheNumberOfRowsCountsNotTheirWidth) {
  const Cluster efa = On("b300-sxm-288gb", 32, 100e9, Fabric::kEfa);
  const RoutedRows wide = Routed(32, 8);
  RoutedRows narrow = wide, few = wide;
  narrow.row_bytes /= 2, few.rows /= 2;
  const double all = Time(Dispatcher::kDeepEp, efa, wide);
  EXPECT_EQ(Time(Dispatcher::kDeepEp, efa, narrow), all);
  // Of four nodes, 3.6 hold some of eight experts; three in four of them are other nodes.
  const double sent = 4096 * PartsReached(4, 8) * 3 / 4;
  EXPECT_NEAR(all - Time(Dispatcher::kDeepEp, efa, few), sent / 2 * 500, 1);
  EXPECT_LT(Time(Dispatcher::kDeepEp, On("b300-sxm-288gb", 32, 100e9), narrow),
            0.8 * Time(Dispatcher::kDeepEp, On("b300-sxm-288gb", 32, 100e9), wide));
}

TEST(ExpertDispatchTest, HybridEpStaysInANodeOnEfa) {
  Job job = Mixture(Dispatcher::kHybridEp);
  job.constraints.expert_parallel = {1, 0};
  const auto widest = [&] {
    int64_t most = 0;
    ForEachDegrees(job, [&](const Parallelism& p, const DegreeRange&) {
      most = std::max(most, p.expert);
      return true;
    });
    return most;
  };
  EXPECT_EQ(widest(), 32);
  job.cluster.fabric = Fabric::kEfa;
  EXPECT_EQ(widest(), 8);
}

TEST(ExpertDispatchTest, SharedExpertsHideTheExchange) {
  Job job = TextJob("deepseek-v3-671b", "h100-sxm-80gb", 64);
  const auto exchanged = [&] {
    const Parallelism p{.tensor = 1, .pipeline = 1, .data = 64, .expert = 8};
    for (const LayerCost& layer : BuildLayerProfile(job, p, kDispatchPack, kDispatchPack).classes)
      if (layer.kind == LayerKind::kMoe) return layer.forward_communication.at(kDispatchPack);
    return 0.0;
  };
  const double shown = exchanged();
  job.training.execution.overlap_shared_expert = true;
  EXPECT_LT(exchanged(), shown);
  EXPECT_GT(exchanged(), 0);
}

TEST(ExpertDispatchTest, PlansShowEachDispatcher) {
  Job job = Mixture(Dispatcher::kLeastTime);
  job.constraints.expert_parallel = {32, 32};
  const PlanResult result = MakePlan(job, {});
  ASSERT_TRUE(result.plan.fits());
  const std::vector<DispatcherTime>& times = result.plan.expert_dispatchers;
  ASSERT_EQ(times.size(), 3u);  // the rows of 32 ranks do not fit
  EXPECT_TRUE(times.front().planned);
  EXPECT_EQ(times.front().dispatcher, Dispatcher::kDeepEp);
  EXPECT_EQ(times.front().step_ns, result.plan.prediction.step.total_ns);
  for (size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i].step_ns, times[i - 1].step_ns);
    EXPECT_FALSE(times[i].planned);
  }
  job.constraints.expert_parallel = {1, 1};
  EXPECT_TRUE(MakePlan(job, {}).plan.expert_dispatchers.empty());
}

// 32 ranks of 8192 rows of 2048 values: one buffer for all layers, and in a layer as much again for
// gradients and for what its experts give.
TEST(ExpertDispatchTest, GatheredRowsTakeMemory) {
  const double gathered = 32 * 8192 * 2048 * 2.0;
  const Job job = Mixture(Dispatcher::kAllToAll), gathers = Mixture(Dispatcher::kAllGather);
  EXPECT_EQ(BufferBytes(gathers, kSpreadExperts, kDispatchPack) -
                BufferBytes(job, kSpreadExperts, kDispatchPack),
            gathered);
  Parallelism alone = kSpreadExperts;
  alone.expert = 1;
  EXPECT_EQ(BufferBytes(gathers, alone, kDispatchPack), BufferBytes(job, alone, kDispatchPack));
  const auto workspace = [](const Job& of) {
    for (const LayerCost& layer :
         BuildLayerProfile(of, kSpreadExperts, kDispatchPack, kDispatchPack).classes)
      if (layer.kind == LayerKind::kMoe) return layer.modes.front().workspace_bytes;
    return int64_t{0};
  };
  EXPECT_GT(workspace(gathers) - workspace(job), gathered);
  EXPECT_LE(workspace(gathers) - workspace(job), 2 * gathered);
}

// A dispatcher with which the plan would not fit is not shown.
TEST(ExpertDispatchTest, WhatDoesNotFitIsNotShown) {
  Job job = TextJob("qwen3-30b-a3b", "b300-sxm-288gb", 32);
  job.constraints.expert_parallel = {8, 8};
  const auto shows_all_gather = [](const Plan& plan) {
    EXPECT_TRUE(plan.fits());
    return std::any_of(
        plan.expert_dispatchers.begin(), plan.expert_dispatchers.end(),
        [](const DispatcherTime& time) { return time.dispatcher == Dispatcher::kAllGather; });
  };
  const Plan roomy = MakePlan(job, {}).plan;
  EXPECT_TRUE(shows_all_gather(roomy));
  job.cluster.reserved_bytes += roomy.stages.front().free_bytes();
  EXPECT_FALSE(shows_all_gather(MakePlan(job, {}).plan));
}

}  // namespace
}  // namespace evenkeel::planner
