// Times of collectives that a user measured on a GPU type: docs/COST_MODEL.md, section 7.
#ifndef EVENKEEL_PLANNER_HARDWARE_MEASURED_COLLECTIVES_H_
#define EVENKEEL_PLANNER_HARDWARE_MEASURED_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/hardware/collective_table.h"

namespace evenkeel::planner {

struct CollectivePoint {
  double bytes = 0;  // as CollectiveTable counts them; those that a rank sends in a kSendReceive
  double ns = 0;
  friend bool operator==(const CollectivePoint&, const CollectivePoint&) = default;
};

// One collective over one group of ranks.
struct CollectiveCurve {
  Collective op{};
  int64_t ranks = 2;
  int64_t ranks_per_node = 2;  // or per scale-up domain, where that spans nodes
  // Bandwidth of the measured network, per GPU and direction: only jobs on such a network use the
  // curve. 0: all jobs do.
  double inter_node_bytes_per_second = 0;
  std::vector<CollectivePoint> points;  // ascending in bytes

  bool inside() const { return ranks_per_node >= ranks; }
  // Returns the time that is linear between the points. REQUIRES: `bytes` is not below the first
  // point or above the last.
  double At(double bytes) const;
  friend bool operator==(const CollectiveCurve&, const CollectiveCurve&) = default;
};

// Ascending by SameGroup's members, one curve for each group of a collective.
using CollectiveCurves = std::vector<CollectiveCurve>;

// Returns whether two curves have the same collective, ranks and network.
bool SameGroup(const CollectiveCurve& a, const CollectiveCurve& b);
bool BeforeInOrder(const CollectiveCurve& a, const CollectiveCurve& b);

// The curves nearest to a group: that of an equal group, or those of its neighbours in the number
// of ranks.
struct NearCurves {
  const CollectiveCurve* below = nullptr;  // nullptr: nothing was measured of this collective
  const CollectiveCurve* above = nullptr;  // nullptr: only `below` counts
  double above_share = 0;                  // weight of `above`
};

// Finds the curves for a group: those inside a node for groups inside one, and for others those
// with the nearest number of ranks per node by ratio (the smaller of two).
NearCurves CurvesFor(const CollectiveCurves& curves, Collective op, int64_t ranks,
                     int64_t ranks_per_node);

// Returns, in words, which groups were measured.
std::string MeasuredText(const CollectiveCurves& curves);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_MEASURED_COLLECTIVES_H_
