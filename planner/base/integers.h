// Integer helpers. Decisions compare integers, so that results do not depend on the platform.
#ifndef EVENKEEL_PLANNER_BASE_INTEGERS_H_
#define EVENKEEL_PLANNER_BASE_INTEGERS_H_

#include <cstdint>
#include <limits>

namespace evenkeel::planner {

// For sums and products of more than 64 bits.
__extension__ using Wide = __int128;

// REQUIRES: a >= 0, b > 0.
constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t multiple) {
  return CeilDivide(a, multiple) * multiple;
}

// Returns the largest divisor of `number` that is at most `most`. REQUIRES: both > 0.
constexpr int64_t LargestDivisor(int64_t number, int64_t most) {
  int64_t divisor = most < number ? most : number;
  while (number % divisor != 0) --divisor;
  return divisor;
}

// Returns the integer nearest to `value` >= 0. Values above 4e18 count as 4e18.
constexpr int64_t Nearest(double value) {
  return value < 4e18 ? static_cast<int64_t>(value + 0.5) : int64_t{4'000'000'000'000'000'000};
}

// Returns a * b, or the largest int64_t if the product exceeds it. REQUIRES: a >= 0, b > 0.
constexpr int64_t CappedProduct(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return a > kMost / b ? kMost : a * b;
}

// Returns a * b / c. Only the result must fit in 64 bits, not the product. REQUIRES: c > 0.
constexpr int64_t MultiplyDivide(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(Wide{a} * b / c);
}

// Shorthand for formulas that give a real number.
constexpr double D(int64_t value) { return static_cast<double>(value); }

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_INTEGERS_H_
