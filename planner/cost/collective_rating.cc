#include "planner/cost/collective_rating.h"

#include <algorithm>

#include "planner/base/decimal_text.h"
#include "planner/base/integers.h"
#include "planner/cost/network.h"
#include "planner/cost/rating.h"

namespace evenkeel::planner {
namespace {

// The protocols of small messages differ by more than a model can tell.
constexpr double kLeastJudged = 1 << 20;
constexpr double kAboveLink = 1.05;  // rates are rounded, and clocks are not exact
constexpr double kAssumedInterNodeRate = 25e9;

Cluster ClusterLike(const CollectiveCurve& curve, const GpuSpec& gpu) {
  Cluster cluster;
  cluster.gpu = gpu;
  cluster.gpu_count = curve.ranks;
  cluster.gpus_per_node = cluster.gpus_per_full_node = curve.ranks_per_node;
  const bool scaleup = gpu.scaleup_bytes_per_second > 0 && !gpu.scaleup_pairs_only;
  cluster.intra_node_bytes_per_second =
      scaleup ? gpu.scaleup_bytes_per_second : gpu.pcie_bytes_per_second;
  cluster.inter_node_bytes_per_second = curve.inter_node_bytes_per_second > 0
                                            ? curve.inter_node_bytes_per_second
                                            : kAssumedInterNodeRate;
  return cluster;
}

double Predicted(const Network& network, const CollectiveCurve& curve, double bytes) {
  return network.GroupCollective(curve.op, {curve.ranks, curve.ranks_per_node}, bytes);
}

std::string TimeText(double ns) { return MillisecondsText(Nearest(ns)); }

}  // namespace

std::optional<CurveDoubt> DoubtOf(const CollectiveCurve& curve, const GpuSpec& gpu) {
  const Cluster cluster = ClusterLike(curve, gpu);
  const Network network(cluster);
  // A pair may have a bridge that others lack.
  const double link = std::max(gpu.scaleup_bytes_per_second, gpu.pcie_bytes_per_second);
  const bool send = curve.op == Collective::kSendReceive;
  const double crossing = send ? 1 : D(curve.ranks - 1) / D(curve.ranks);
  for (const CollectivePoint& point : curve.points) {
    const std::string measured = MebibytesText(point.bytes) + " in " + TimeText(point.ns);
    const double least = point.bytes * crossing / link * 1e9;
    if (point.ns * kAboveLink < least)
      return CurveDoubt{true, measured + "; at the rate of the link of " + gpu.name +
                                  " it takes at least " + TimeText(least)};
    if (point.bytes < kLeastJudged) continue;
    if (!curve.inside() && curve.inter_node_bytes_per_second == 0) continue;
    const double predicted = Predicted(network, curve, point.bytes);
    const double ratio = point.ns / predicted;
    if (ratio > kRatioAtMost || ratio < 1 / kRatioAtMost)
      return CurveDoubt{false, measured + " measured, " + TimeText(predicted) +
                                   " predicted: a factor of " + RatioText(ratio) +
                                   ", accepted: 1/3 to 3"};
  }
  return std::nullopt;
}

std::vector<double> CollectiveRatios(const MeasuredProfile& profile,
                                     const Calibration& calibration) {
  std::vector<double> ratios;
  for (const CollectiveCurve& curve : profile.collectives) {
    Cluster cluster = ClusterLike(curve, profile.gpu);
    cluster.collectives = calibration.collectives;
    const Network network(cluster);
    for (const CollectivePoint& point : curve.points)
      ratios.push_back(Predicted(network, curve, point.bytes) / point.ns);
  }
  return ratios;
}

}  // namespace evenkeel::planner
