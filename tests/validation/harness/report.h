// Prints predicted and measured figures, by case and by family, and judges them by the stated
// bounds.
#ifndef EVENKEEL_TESTS_VALIDATION_HARNESS_REPORT_H_
#define EVENKEEL_TESTS_VALIDATION_HARNESS_REPORT_H_

#include <string>
#include <vector>

#include "tests/validation/harness/case.h"
#include "tests/validation/harness/evaluate.h"

namespace evenkeel::validation {

struct Result {
  const Case* run = nullptr;
  Outcome outcome;
};

// Returns Kendall's tau-b of two lists of equal length; 0 if one of them is constant.
double KendallTau(const std::vector<double>& a, const std::vector<double>& b);

// Returns the relative error; for counts, the difference.
double ErrorOf(Figure figure, double predicted, double measured);

// Prints the memory of each stage by part.
void PrintMemory(const Outcome& outcome);

struct ReportOptions {
  bool parts = false;  // memory and time by part under each case
};

// Prints everything. Returns how many bounds do not hold.
int Report(const std::vector<Result>& results, const Cases& cases, const ReportOptions& options);

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_REPORT_H_
