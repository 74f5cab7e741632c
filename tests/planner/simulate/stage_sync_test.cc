#include "planner/simulate/stage_sync.h"

#include <gtest/gtest.h>

#include "planner/cost/kernel_time.h"
#include "planner/cost/network.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

constexpr TrainedParameters kBillion{1'000'000'000, 0};

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

Job JobOn(ZeroStage zero) {
  Job job = TextJob("llama3-8b", "a100-sxm-80gb", 32);
  job.training.zero_stage = zero;
  return job;
}

TEST(StageSyncTest, ByTopologyAndSharding) {
  const auto sync = [&](int64_t tensor, int64_t data, ZeroStage zero) {
    return SyncOf(JobOn(zero), {.tensor = tensor, .pipeline = 1, .data = data}, kBillion);
  };
  EXPECT_EQ(sync(8, 1, ZeroStage::kNone).reduce_ns, 0);
  // NVLink is faster than the network.
  EXPECT_LT(sync(1, 8, ZeroStage::kNone).reduce_ns, sync(2, 8, ZeroStage::kNone).reduce_ns);
  // Four ranks on four nodes move 2 x 3/4 of 4 GB of fp32 gradients, with three hops each way.
  const double rate = 0.85 * JobOn(ZeroStage::kNone).cluster.inter_node_bytes_per_second;
  const StageSync whole = sync(8, 4, ZeroStage::kNone);
  EXPECT_NEAR(Seconds(whole.reduce_ns), 2 * (0.75 * 4e9 / rate + 3 * 5e-6), 1e-6);
  EXPECT_EQ(whole.gather_ns, 0);
  // With a sharded optimizer, half as much of the gradients moves, plus 2 GB of weights. The
  // optimizer updates a quarter.
  const StageSync sharded = sync(8, 4, ZeroStage::kOptimizer);
  EXPECT_NEAR(Seconds(sharded.reduce_ns), 0.75 * 4e9 / rate + 3 * 5e-6, 1e-6);
  EXPECT_NEAR(Seconds(sharded.gather_ns), 0.75 * 2e9 / rate + 3 * 5e-6, 1e-6);
  EXPECT_NEAR(Seconds(sharded.optimizer_ns) * 4, Seconds(whole.optimizer_ns), 1e-4);
  // ZeRO-3 exchanges with each layer.
  EXPECT_EQ(sync(8, 4, ZeroStage::kWeights).reduce_ns, 0);
  EXPECT_EQ(sync(8, 4, ZeroStage::kWeights).gather_ns, 0);
  EXPECT_EQ(sync(8, 4, ZeroStage::kWeights).optimizer_ns, sharded.optimizer_ns);
  // Context ranks hold the same weights.
  EXPECT_EQ(SyncOf(JobOn(ZeroStage::kOptimizer),
                   {.tensor = 8, .pipeline = 1, .data = 2, .context = 2}, kBillion)
                .reduce_ns,
            sharded.reduce_ns);
  EXPECT_EQ(SyncOf(JobOn(ZeroStage::kNone), {.tensor = 8, .pipeline = 1, .data = 4}, {}).buckets,
            1);
}

TEST(StageSyncTest, ExpertsHaveFewerCopies) {
  const Job job = JobOn(ZeroStage::kOptimizer);
  Parallelism p{.tensor = 1, .pipeline = 1, .data = 32};
  const TrainedParameters experts{1'000'000'000, 1'000'000'000};
  const int64_t all = SyncOf(job, p, experts).reduce_ns;
  EXPECT_EQ(all, SyncOf(job, p, kBillion).reduce_ns);
  p.expert = 32;  // each expert is on one rank
  EXPECT_EQ(SyncOf(job, p, experts).reduce_ns, 0);
  EXPECT_EQ(SyncOf(job, p, kBillion).reduce_ns, all);
  EXPECT_GT(SyncOf(job, p, experts).optimizer_ns, SyncOf(job, p, kBillion).optimizer_ns);
}

TEST(StageSyncTest, WholeEncodersAreReducedOverDataAndTensorRanks) {
  const Job job = JobOn(ZeroStage::kOptimizer);
  Parallelism p{.tensor = 4, .pipeline = 1, .data = 4, .context = 2};
  const TrainedParameters encoders{.all = 1'000'000'000, .encoders = 1'000'000'000};
  const StageSync split = SyncOf(job, p, kBillion);
  p.encoder_data = 2;  // context ranks share images, tensor ranks do not
  EXPECT_EQ(SyncOf(job, p, encoders).reduce_ns, split.reduce_ns);
  p.encoder_data = 8;
  const Parallelism data{.tensor = 1, .pipeline = 1, .data = 16, .context = 2};
  EXPECT_EQ(SyncOf(job, p, encoders).reduce_ns, SyncOf(job, data, kBillion).reduce_ns);
  EXPECT_EQ(SyncOf(job, p, encoders).optimizer_ns, SyncOf(job, data, kBillion).optimizer_ns);
  EXPECT_EQ(SyncOf(job, p, kBillion).reduce_ns, split.reduce_ns);
  const TrainedParameters both{.all = 2'000'000'000, .encoders = 1'000'000'000};
  EXPECT_NEAR(static_cast<double>(SyncOf(job, p, both).reduce_ns),
              static_cast<double>(split.reduce_ns + SyncOf(job, data, kBillion).reduce_ns), 2);
}

TEST(StageSyncTest, RanksThatBroadcastInTurnAddTheirTime) {
  Job job = JobOn(ZeroStage::kOptimizer);
  const Parallelism p{.tensor = 2, .pipeline = 1, .data = 16};
  for (const bool overlaps : {false, true}) {
    job.training.execution.overlap_weight_gather = overlaps;
    job.training.execution.gather_ns_per_rank = 0;
    const StageSync before = SyncOf(job, p, kBillion);
    job.training.execution.gather_ns_per_rank = 1e6;
    const StageSync after = SyncOf(job, p, kBillion);
    // Passes do not hide turns, so where gathering overlaps with passes they come before it.
    const int64_t gather = after.gather_ns - before.gather_ns;
    const int64_t optimizer = after.optimizer_ns - before.optimizer_ns;
    EXPECT_NEAR(static_cast<double>(overlaps ? optimizer : gather), 16e6, 1);
    EXPECT_EQ(overlaps ? gather : optimizer, 0);
    EXPECT_EQ(after.reduce_ns, before.reduce_ns);
  }
}

TEST(StageSyncTest, BucketsOfMegatronCore) {
  const Job job = JobOn(ZeroStage::kOptimizer);
  // A little fewer than 25 and 10: the latency of a collective does not shrink with its bytes.
  EXPECT_NEAR(SyncOf(job, {.tensor = 1, .pipeline = 1, .data = 32}, kBillion).buckets, 24, 1);
  EXPECT_NEAR(SyncOf(job, {.tensor = 1, .pipeline = 1, .data = 100}, kBillion).buckets, 9.5, 0.5);
  EXPECT_EQ(SyncOf(job, {.tensor = 1, .pipeline = 1, .data = 32}, {1'000, 0}).buckets, 1);
}

TEST(StageSyncTest, MoreParametersNeverLeaveLess) {
  const Job job = JobOn(ZeroStage::kOptimizer);
  const Parallelism p{.tensor = 1, .pipeline = 1, .data = 32};
  const Execution& execution = job.training.execution;
  for (const int64_t pass_ns : {int64_t{1'000}, int64_t{1'000'000}, int64_t{1'000'000'000}}) {
    int64_t reduce = 0, gather = 0;
    for (int64_t parameters = 1'000'000; parameters < 500'000'000; parameters += 3'000'000) {
      const StageSync sync = SyncOf(job, p, {parameters, 0});
      EXPECT_GE(ExposedReduce(execution, sync, pass_ns) + 1, reduce) << parameters;
      EXPECT_GE(ExposedGather(execution, sync, pass_ns) + 1, gather) << parameters;
      reduce = ExposedReduce(execution, sync, pass_ns);
      gather = ExposedGather(execution, sync, pass_ns);
    }
  }
}

TEST(StageSyncTest, PassesHideWhatTheyCan) {
  Execution execution;
  const StageSync sync{.reduce_ns = 80, .gather_ns = 40, .buckets = 4};
  EXPECT_EQ(ExposedReduce(execution, sync, 40), 50);    // the first bucket is ready at 10
  EXPECT_EQ(ExposedReduce(execution, sync, 1000), 20);  // only the last bucket
  EXPECT_EQ(ExposedGather(execution, sync, 40), 10);
  EXPECT_EQ(ExposedGather(execution, sync, 20), 25);  // the forward's last quarter waits to the end
  // The slowdown is a tenth of what is hidden: 80 - 50, and 40 - 25.
  const StageSync slowed{.reduce_ns = 80, .gather_ns = 40, .buckets = 4, .slowdown = 0.1};
  EXPECT_EQ(ExposedReduce(execution, slowed, 40), 53);
  EXPECT_EQ(ExposedGather(execution, slowed, 20), 27);  // 1.5 rounds up
  execution.overlap_gradient_reduce = execution.overlap_weight_gather = false;
  EXPECT_EQ(ExposedReduce(execution, sync, 1000), 80);
  EXPECT_EQ(ExposedGather(execution, sync, 1000), 40);
  EXPECT_EQ(ExposedReduce(execution, {}, 10), 0);
}

TEST(StageSyncTest, GroupsOfANodeGatherInsideItAndReduceAcross) {
  Job job = TextJob("llama3-8b", "h100-sxm-80gb", 64);
  const Parallelism p{.tensor = 1, .pipeline = 1, .data = 64};
  const TrainedParameters trained{.all = 8'000'000'000};
  const StageSync all = SyncOf(job, p, trained);
  job.training.zero_group = 8;
  const StageSync node = SyncOf(job, p, trained);
  EXPECT_LT(4 * node.gather_ns, all.gather_ns);
  const Network network(job.cluster);
  const double gradients = 4 * 8e9;
  EXPECT_NEAR(static_cast<double>(node.reduce_ns),
              network.GroupCollective(Collective::kReduceScatter, {8, 8}, gradients) +
                  network.GroupCollective(Collective::kAllReduce, {8, 1}, gradients / 8),
              2);
  EXPECT_GT(node.optimizer_ns, 7 * all.optimizer_ns);  // each rank updates an eighth
  job.training.zero_group = 64;
  EXPECT_EQ(SyncOf(job, p, trained).reduce_ns, all.reduce_ns);
}

}  // namespace
}  // namespace evenkeel::planner
