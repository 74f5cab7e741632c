// The exponential function, computed only by sums and products, so that every platform computes the
// same bits.
#ifndef EVENKEEL_PLANNER_BASE_EXPONENTIAL_H_
#define EVENKEEL_PLANNER_BASE_EXPONENTIAL_H_

namespace evenkeel::planner {

// Returns e^x - 1 for x >= 0 with a relative error of about 1e-14. Values of x above 300 count as
// 300.
inline double ExponentialMinusOne(double x) {
  if (!(x < 300)) x = 300;
  int doublings = 0;
  for (; x > 0.0625; x /= 2) ++doublings;
  double sum = 0;  // Taylor series, summed from its last term: x^14 / 14! is below 1e-27
  for (int n = 13; n >= 1; --n) sum = x / n * (1 + sum);
  for (; doublings > 0; --doublings) sum *= 2 + sum;  // e^2x - 1 = (e^x - 1) (e^x + 1)
  return sum;
}

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_EXPONENTIAL_H_
