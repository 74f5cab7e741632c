// Units that figures of several files are converted to.
#ifndef EVENKEEL_PLANNER_BASE_UNITS_H_
#define EVENKEEL_PLANNER_BASE_UNITS_H_

#include <cstdint>

namespace evenkeel::planner {

inline constexpr int64_t kGiB = int64_t{1} << 30;
inline constexpr double kValueBytes = 2;  // of a 16-bit weight, gradient or activation
inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kNsPerDay = 86400e9;

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_UNITS_H_
