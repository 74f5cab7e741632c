// Converts the planner's figures to those of the contract, and back.
#ifndef EVENKEEL_SERVER_CONVERT_NUMBERS_H_
#define EVENKEEL_SERVER_CONVERT_NUMBERS_H_

#include <cstdint>

#include "planner/base/integers.h"

namespace evenkeel::server {

inline double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }
// Returns 0 for an invalid time, because a record may hold any number.
inline int64_t Nanoseconds(double seconds) {
  return seconds > 0 ? planner::Nearest(seconds * 1e9) : 0;
}
// REQUIRES: the contract bounds `value`, as it does for GPUs, layers and packs.
inline int32_t Count(int64_t value) { return static_cast<int32_t>(value); }

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_NUMBERS_H_
