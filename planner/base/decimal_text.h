// Writes numbers for people to read. The digits come from integers, so that every platform writes
// the same text.
#ifndef EVENKEEL_PLANNER_BASE_DECIMAL_TEXT_H_
#define EVENKEEL_PLANNER_BASE_DECIMAL_TEXT_H_

#include <absl/strings/str_format.h>

#include <cstdint>
#include <string>

#include "planner/base/integers.h"

namespace evenkeel::planner {

// Returns `value` >= 0 in decimal notation with `digits` (1 to 6) digits after the point.
inline std::string DecimalText(double value, int digits) {
  int64_t scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const int64_t scaled = Nearest(value * static_cast<double>(scale));
  return absl::StrFormat("%d.%0*d", scaled / scale, digits, scaled % scale);
}

inline std::string RatioText(double ratio) { return DecimalText(ratio, 2) + "x"; }
inline std::string PercentText(double share) { return DecimalText(100 * share, 1) + "%"; }
inline std::string MillisecondsText(int64_t ns) {
  return DecimalText(static_cast<double>(ns) / 1e6, 3) + " ms";
}
inline std::string MebibytesText(double bytes) {
  return DecimalText(bytes / static_cast<double>(int64_t{1} << 20), 1) + " MiB";
}
inline std::string GibibytesText(double bytes) {
  return DecimalText(bytes / static_cast<double>(int64_t{1} << 30), 1) + " GiB";
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_DECIMAL_TEXT_H_
