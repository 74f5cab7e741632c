// One table of the bounds that the model meets now, and why they are not tighter.
#ifndef EVENKEEL_TESTS_VALIDATION_HARNESS_BOUNDS_H_
#define EVENKEEL_TESTS_VALIDATION_HARNESS_BOUNDS_H_

#include <string_view>

#include "tests/validation/harness/case.h"

namespace evenkeel::validation {

// Relative errors or, for kRecomputed, layers.
struct Bound {
  std::string_view family;  // prefix of a file's name; "" is any other
  Figure figure;
  double mean = 0, worst = 0;
  std::string_view reason;
};

// Returns the first bound that fits.
const Bound& BoundOf(std::string_view family, Figure figure);

// Returns why an entry of the index ("area row, metric") is beyond its own tolerance by this error,
// or "" if no reason is known.
std::string_view WhyBeyond(std::string_view entry, double error);

// Mean over groups of Kendall's tau between predicted and measured iteration times. The aim is 0.9,
// but splits with tensor parallel 2 and 4 over many nodes are ranked too high.
inline constexpr double kLeastTau = 0.74;

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_BOUNDS_H_
