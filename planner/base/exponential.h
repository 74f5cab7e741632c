// The exponential function by sums and products alone, so that it is the same to the last bit on
// every platform.
#ifndef EVENKEEL_PLANNER_BASE_EXPONENTIAL_H_
#define EVENKEEL_PLANNER_BASE_EXPONENTIAL_H_

namespace evenkeel::planner {

// e^x - 1 for 0 <= x, to about 1e-14 of it; what is beyond e^300 counts as that.
inline double ExponentialMinusOne(double x) {
  if (!(x < 300)) x = 300;
  int doublings = 0;
  for (; x > 0.0625; x /= 2) ++doublings;
  double sum = 0;  // Taylor's series from its end: x^14 / 14! is below 1e-27
  for (int n = 13; n >= 1; --n) sum = x / n * (1 + sum);
  for (; doublings > 0; --doublings) sum *= 2 + sum;  // e^2x - 1 = (e^x - 1) (e^x + 1)
  return sum;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_EXPONENTIAL_H_
