// Integer helpers. Decisions compare integers, so that results do not depend on the platform.
#ifndef EVENKEEL_PLANNER_BASE_INTEGERS_H_
#define EVENKEEL_PLANNER_BASE_INTEGERS_H_

#include <cstdint>
#include <limits>

namespace evenkeel::planner {

// REQUIRES: a >= 0, b > 0.
constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t multiple) {
  return CeilDivide(a, multiple) * multiple;
}

// Nearest integer of a value >= 0; what is beyond 4e18 counts as that.
constexpr int64_t Nearest(double value) {
  return value < 4e18 ? static_cast<int64_t>(value + 0.5) : int64_t{4'000'000'000'000'000'000};
}

// a * b, or the largest number there is where that is too much. REQUIRES: a >= 0, b > 0.
constexpr int64_t CappedProduct(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return a > kMost / b ? kMost : a * b;
}

// a * b / c where only the result is sure to fit in 64 bits. REQUIRES c > 0.
constexpr int64_t MultiplyDivide(int64_t a, int64_t b, int64_t c) {
  __extension__ using Wide = __int128;
  return static_cast<int64_t>(Wide{a} * b / c);
}

inline constexpr int64_t kGiB = int64_t{1} << 30;

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_INTEGERS_H_
