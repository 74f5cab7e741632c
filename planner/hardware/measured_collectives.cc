#include "planner/hardware/measured_collectives.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace evenkeel::planner {
namespace {

auto GroupKey(const CollectiveCurve& curve) {
  return std::tuple(curve.op, curve.ranks_per_node, curve.ranks, curve.inter_node_bytes_per_second);
}

double RatioOf(int64_t a, int64_t b) {
  return static_cast<double>(std::max(a, b)) / static_cast<double>(std::min(a, b));
}

const char* OperationText(Collective op) {
  switch (op) {
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kAllToAll:
      return "all-to-all";
    case Collective::kSendReceive:
      break;
  }
  return "send and receive";
}

}  // namespace

double CollectiveCurve::At(double bytes) const {
  size_t i = 1;
  while (i + 1 < points.size() && bytes > points[i].bytes) ++i;
  if (points.size() == 1 || bytes <= points.front().bytes) return points.front().ns;
  const CollectivePoint& a = points[i - 1];
  const CollectivePoint& b = points[i];
  return a.ns + (b.ns - a.ns) * (bytes - a.bytes) / (b.bytes - a.bytes);
}

bool SameGroup(const CollectiveCurve& a, const CollectiveCurve& b) {
  return GroupKey(a) == GroupKey(b);
}

bool BeforeInOrder(const CollectiveCurve& a, const CollectiveCurve& b) {
  return GroupKey(a) < GroupKey(b);
}

NearCurves CurvesFor(const CollectiveCurves& curves, Collective op, int64_t ranks,
                     int64_t ranks_per_node) {
  const bool inside = ranks_per_node >= ranks;
  int64_t per_node = 0;  // of the curves that count; those inside a node need not agree
  for (const CollectiveCurve& curve : curves) {
    if (curve.op != op || curve.inside() != inside || inside) continue;
    if (per_node == 0 ||
        RatioOf(curve.ranks_per_node, ranks_per_node) < RatioOf(per_node, ranks_per_node))
      per_node = curve.ranks_per_node;
  }
  NearCurves near;
  for (const CollectiveCurve& curve : curves) {
    if (curve.op != op || curve.inside() != inside) continue;
    if (!inside && curve.ranks_per_node != per_node) continue;
    if (curve.ranks <= ranks || near.below == nullptr) {
      near.below = &curve;
    } else if (near.below->ranks < ranks && near.above == nullptr) {
      near.above = &curve;
    }
  }
  if (near.above != nullptr)
    near.above_share = static_cast<double>(ranks - near.below->ranks) /
                       static_cast<double>(near.above->ranks - near.below->ranks);
  return near;
}

std::string MeasuredText(const CollectiveCurves& curves) {
  std::string text;
  for (size_t i = 0; i < curves.size(); ++i) {
    const CollectiveCurve& curve = curves[i];
    const bool same = i > 0 && curves[i - 1].op == curve.op;
    text += same ? ", " : std::string(i > 0 ? "; " : "") + OperationText(curve.op) + " over ";
    text += std::to_string(curve.ranks) + " ranks";
    if (!curve.inside()) text += " (" + std::to_string(curve.ranks_per_node) + " per node)";
  }
  return text;
}

}  // namespace evenkeel::planner
