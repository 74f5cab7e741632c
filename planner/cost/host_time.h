// A layer that the host launches while the device computes: docs/COST_MODEL.md, section 2.4.
#ifndef EVENKEEL_PLANNER_COST_HOST_TIME_H_
#define EVENKEEL_PLANNER_COST_HOST_TIME_H_

#include <algorithm>
#include <cmath>

namespace evenkeel::planner {

// Returns the time of a layer that the host launches while the device computes. It is the longer of
// the host's and the device's time if they differ much, and 1.19 times that if they are equal,
// because each waits for the other in turn.
inline double OverlappedTime(double device, double host) {
  const double longer = std::max(device, host);
  if (longer <= 0) return 0;
  const double ratio = std::min(device, host) / longer;
  return longer * std::sqrt(std::sqrt(1 + ratio * ratio * ratio * ratio));
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_HOST_TIME_H_
