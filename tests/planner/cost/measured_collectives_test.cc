#include "planner/hardware/measured_collectives.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "planner/cost/apply_calibration.h"
#include "planner/cost/calibration_book.h"
#include "planner/cost/collective_rating.h"
#include "planner/cost/network.h"
#include "planner/explain/changed_job.h"
#include "planner/hardware/gpus.h"
#include "planner/make_plan.h"
#include "tests/planner/jobs.h"
#include "tests/planner/profiles.h"

namespace evenkeel::planner {
namespace {

constexpr double kMiB = 1 << 20;

// A curve that takes `ratio` times what the model predicts.
CollectiveCurve Slower(const Cluster& cluster, Collective op, int64_t ranks, int64_t per_node,
                       double ratio) {
  const Network network(cluster);
  CollectiveCurve curve{.op = op, .ranks = ranks, .ranks_per_node = per_node};
  for (double bytes = kMiB / 16; bytes <= 1024 * kMiB; bytes *= 4)
    curve.points.push_back({bytes, ratio * network.GroupCollective(op, {ranks, per_node}, bytes)});
  return curve;
}

Cluster With(Cluster cluster, CollectiveCurves curves) {
  cluster.collectives = std::make_shared<const CollectiveCurves>(std::move(curves));
  return cluster;
}

Calibration CalibrationOf(const CollectiveCurve& curve, const Job& job) {
  MeasuredProfile profile;
  profile.gpu = job.cluster.gpu;
  profile.collectives = {curve};
  return CalibrationBook({RatedOf(3, profile)}, "model 1").For(job.model, job.cluster);
}

TEST(MeasuredCollectivesTest, TheMeasuredGroupTakesTheMeasuredTime) {
  const Cluster cluster = ClusterOf("h100-sxm-80gb", 32);
  CollectiveCurve curve{.op = Collective::kAllReduce, .ranks = 16, .ranks_per_node = 8};
  curve.points = {{kMiB, 50e3}, {4 * kMiB, 110e3}, {64 * kMiB, 900e3}};
  const Network network(With(cluster, {curve}));
  const RankGroup group{16, 8};
  for (const CollectivePoint& point : curve.points)
    EXPECT_NEAR(network.GroupCollective(curve.op, group, point.bytes), point.ns, 1e-3);
  EXPECT_NEAR(network.GroupCollective(curve.op, group, 2.5 * kMiB), 80e3, 1e-3);
  // Beyond what was measured, the model's form goes on from the last time.
  const Network model(cluster);
  for (const double bytes : {kMiB / 8, 512 * kMiB}) {
    const CollectivePoint& end = bytes < kMiB ? curve.points.front() : curve.points.back();
    const double ratio = end.ns / model.GroupCollective(curve.op, group, end.bytes);
    EXPECT_NEAR(network.GroupCollective(curve.op, group, bytes),
                ratio * model.GroupCollective(curve.op, group, bytes), 1e-3);
  }
}

TEST(MeasuredCollectivesTest, NeighboursScaleTheModel) {
  const Cluster cluster = ClusterOf("h100-sxm-80gb", 128);
  const Collective op = Collective::kAllGather;
  const Network model(cluster);
  const Network network(
      With(cluster, {Slower(cluster, op, 4, 4, 2), Slower(cluster, op, 8, 8, 3),
                     Slower(cluster, op, 16, 8, 1.2), Slower(cluster, op, 64, 8, 1.6)}));
  const auto ratio = [&](const RankGroup& group) {
    return network.GroupCollective(op, group, 16 * kMiB) /
           model.GroupCollective(op, group, 16 * kMiB);
  };
  EXPECT_NEAR(ratio({2, 2}), 2, 1e-9);  // the nearest
  EXPECT_NEAR(ratio({6, 6}), 2.5, 1e-9);
  EXPECT_NEAR(ratio({8, 8}), 3, 1e-9);
  // Between nodes, other curves count.
  EXPECT_NEAR(ratio({16, 8}), 1.2, 1e-9);
  EXPECT_NEAR(ratio({40, 8}), 1.4, 1e-9);
  EXPECT_NEAR(ratio({128, 8}), 1.6, 1e-9);
  EXPECT_NEAR(ratio({16, 2}), 1.2, 1e-9);  // the nearest number of ranks per node
  // Another collective was not measured, nor were groups that cross pods.
  EXPECT_EQ(network.GroupCollective(Collective::kAllReduce, {8, 8}, kMiB),
            model.GroupCollective(Collective::kAllReduce, {8, 8}, kMiB));
  const RankGroup pods{64, 8, 32};
  EXPECT_EQ(network.GroupCollective(op, pods, kMiB), model.GroupCollective(op, pods, kMiB));
}

TEST(MeasuredCollectivesTest, TheRatioOfOneChangesNothing) {
  const Cluster cluster = ClusterOf("a100-sxm-80gb", 64);
  for (const Collective op : {Collective::kAllGather, Collective::kReduceScatter,
                              Collective::kAllReduce, Collective::kAllToAll}) {
    const Network model(cluster);
    const Network network(With(cluster, {Slower(cluster, op, 8, 8, 1)}));
    for (double bytes = 1000; bytes < 4e9; bytes *= 3) {
      const double predicted = model.NodeCollective(op, 4, bytes);
      // The table is linear between its own sizes, not the curve's.
      EXPECT_NEAR(network.NodeCollective(op, 4, bytes), predicted, 0.25 * predicted);
    }
  }
}

TEST(MeasuredCollectivesTest, StagesSendInTheMeasuredTime) {
  const Cluster cluster = ClusterOf("a100-sxm-80gb", 32);
  CollectiveCurve inside{.op = Collective::kSendReceive, .ranks = 8, .ranks_per_node = 8};
  inside.points = {{kMiB, 20e3}, {64 * kMiB, 400e3}};
  CollectiveCurve across = inside;
  across.ranks = 16;
  across.points = {{kMiB, 70e3}, {64 * kMiB, 3e6}};
  const Parallelism p{.tensor = 2, .pipeline = 8, .data = 2};
  const Network network(With(cluster, {inside, across}));
  EXPECT_EQ(network.StageSend(p, 0, 1 << 20), 20'000);
  EXPECT_EQ(network.StageSend(p, 0, 64 << 20), 400'000);
  EXPECT_EQ(network.StageSend(p, 1, 64 << 20), 3'000'000);
  // More bytes never take less time: bounds count on it.
  int64_t before = 0;
  for (int64_t bytes = 1; bytes < int64_t{1} << 33; bytes += bytes / 2 + 1) {
    EXPECT_GE(network.StageSend(p, 1, bytes), before) << bytes;
    before = network.StageSend(p, 1, bytes);
  }
}

TEST(MeasuredCollectivesTest, SlowerCollectivesMakeSlowerPlansThatSayWhy) {
  Job job = WholeSpace(TextJob("llama3-8b", "h100-sxm-80gb", 16));
  const PlanResult before = MakePlan(job, {});
  for (const double ratio : {0.5, 2.0}) {
    Job measured = job;
    MeasuredProfile profile;
    profile.gpu = job.cluster.gpu;
    for (const Collective op : {Collective::kAllGather, Collective::kReduceScatter}) {
      profile.collectives.push_back(Slower(job.cluster, op, 8, 8, ratio));
      profile.collectives.push_back(Slower(job.cluster, op, 16, 8, ratio));
    }
    measured.calibration =
        CalibrationBook({RatedOf(3, profile)}, "model 1").For(job.model, job.cluster);
    measured.cluster.collectives = measured.calibration.collectives;
    const PlanResult after = MakePlan(measured, {});
    EXPECT_TRUE(after.faults.empty());
    if (ratio > 1) {
      EXPECT_GT(after.plan.prediction.step.total_ns, before.plan.prediction.step.total_ns);
    } else {
      EXPECT_LT(after.plan.prediction.step.total_ns, before.plan.prediction.step.total_ns);
    }
    std::string said;
    for (const FigureBasis& figure : after.plan.figures) {
      if (figure.figure == "network.collectives" && figure.basis == Basis::kMeasured)
        said = figure.detail;
    }
    EXPECT_EQ(said,
              "in place of the model's: all-gather over 8 ranks, 16 ranks (8 per node); "
              "reduce-scatter over 8 ranks, 16 ranks (8 per node)");
  }
}

TEST(MeasuredCollectivesTest, TheBookKeepsTheNewestOfEachGroup) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  MeasuredProfile old, newer;
  old.gpu = newer.gpu = job.cluster.gpu;
  old.collectives = {Slower(job.cluster, Collective::kAllReduce, 16, 8, 2),
                     Slower(job.cluster, Collective::kAllReduce, 8, 8, 2)};
  newer.collectives = {Slower(job.cluster, Collective::kAllReduce, 16, 8, 3)};
  const CalibrationBook book({RatedOf(3, old), RatedOf(4, newer)}, "model 1");
  const Calibration calibration = book.For(job.model, job.cluster);
  ASSERT_NE(calibration.collectives, nullptr);
  ASSERT_EQ(calibration.collectives->size(), 2u);
  EXPECT_EQ((*calibration.collectives)[0], old.collectives[1]);
  EXPECT_EQ((*calibration.collectives)[1], newer.collectives[0]);
  EXPECT_EQ(*calibration.revisions, (std::vector<int64_t>{3, 4}));
  EXPECT_NE(calibration.version, "");
  EXPECT_NE(calibration.layer_version, "");
}

TEST(MeasuredCollectivesTest, OnlyJobsThatTheyAreOfUseThem) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  CollectiveCurve curve = Slower(job.cluster, Collective::kAllReduce, 16, 8, 2);
  EXPECT_FALSE(CalibrationOf(curve, job).empty());
  EXPECT_TRUE(CalibrationOf(curve, TextJob("llama3-8b", "h100-sxm-80gb", 1)).empty());
  curve.inter_node_bytes_per_second = job.cluster.inter_node_bytes_per_second;
  EXPECT_FALSE(CalibrationOf(curve, job).empty());
  curve.inter_node_bytes_per_second *= 2;
  EXPECT_TRUE(CalibrationOf(curve, job).empty());
  const Cluster other = WithGpu(With(job.cluster, {curve}), FindGpu("h200-sxm-141gb")->spec);
  EXPECT_EQ(other.collectives, nullptr);
}

TEST(MeasuredCollectivesTest, NoiseDoesNotMakeLargerMessagesQuicker) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  CollectiveCurve curve{.op = Collective::kAllReduce, .ranks = 8, .ranks_per_node = 8};
  curve.points = {{1000, 20e3}, {2000, 18e3}, {kMiB, 50e3}};
  const Calibration calibration = CalibrationOf(curve, job);
  EXPECT_EQ((*calibration.collectives)[0].points[1].ns, 20e3);
}

TEST(MeasuredCollectivesTest, WhatCannotBeIsRefused) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  const GpuSpec& gpu = job.cluster.gpu;
  const auto doubt = [&](Collective op, int64_t ranks, int64_t per_node, double bytes, double ns,
                         double rate = 0) {
    return DoubtOf({.op = op,
                    .ranks = ranks,
                    .ranks_per_node = per_node,
                    .inter_node_bytes_per_second = rate,
                    .points = {{bytes, ns}}},
                   gpu);
  };
  // 1 GiB x 7/8 at 450 GB/s takes 2.09 ms.
  const auto impossible = doubt(Collective::kAllGather, 8, 8, 1024 * kMiB, 1.9e6);
  ASSERT_TRUE(impossible);
  EXPECT_TRUE(impossible->impossible);
  EXPECT_EQ(impossible->text,
            "1024.0 MiB in 1.900 ms; at the rate of the link of h100-sxm-80gb it takes at least "
            "2.088 ms");
  EXPECT_FALSE(doubt(Collective::kAllGather, 8, 8, 1024 * kMiB, 2.2e6));
  const auto slow = doubt(Collective::kAllGather, 8, 8, 1024 * kMiB, 2e7);
  ASSERT_TRUE(slow);
  EXPECT_FALSE(slow->impossible);
  EXPECT_NE(slow->text.find("accepted: 1/3 to 3"), std::string::npos) << slow->text;
  EXPECT_FALSE(doubt(Collective::kAllGather, 8, 8, 1000, 1e6));  // latency is not judged
  // Nothing is known of the network between nodes unless it is stated.
  EXPECT_FALSE(doubt(Collective::kAllGather, 16, 8, 1024 * kMiB, 1e9));
  EXPECT_TRUE(doubt(Collective::kAllGather, 16, 8, 1024 * kMiB, 1e9, 50e9));
}

TEST(MeasuredCollectivesTest, ErrorsBeforeAndAfter) {
  const Job job = TextJob("llama3-8b", "h100-sxm-80gb", 16);
  MeasuredProfile profile;
  profile.gpu = job.cluster.gpu;
  profile.collectives = {Slower(job.cluster, Collective::kReduceScatter, 8, 8, 1.25)};
  const PredictionErrors before = ErrorsOf(profile, {}, {});
  EXPECT_EQ(before.collectives.count, 8);
  EXPECT_NEAR(before.collectives.mean, 0.2, 1e-9);
  const PredictionErrors after = ErrorsOf(profile, {}, CalibrationOf(profile.collectives[0], job));
  EXPECT_NEAR(after.collectives.mean, 0, 1e-9);
}

}  // namespace
}  // namespace evenkeel::planner
