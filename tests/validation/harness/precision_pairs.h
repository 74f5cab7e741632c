// Published runs that differ only in precision: how well the speed-up is predicted.
#ifndef EVENKEEL_TESTS_VALIDATION_HARNESS_PRECISION_PAIRS_H_
#define EVENKEEL_TESTS_VALIDATION_HARNESS_PRECISION_PAIRS_H_

#include <cstdint>
#include <vector>

#include "tests/validation/harness/run_report.h"

namespace evenkeel::validation {

struct PrecisionPairs {
  int64_t pairs = 0;
  int64_t right = 0;  // the faster one is predicted
  double error = 0;   // mean absolute error of the ratio of both times
};

// Repeated runs, of several releases, count as one with their mean time.
PrecisionPairs PrecisionPairsOf(const std::vector<Result>& results);

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_PRECISION_PAIRS_H_
