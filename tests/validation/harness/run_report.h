// Errors of predictions on published runs, family by family, and how well they rank settings.
#ifndef EVENKEEL_TESTS_VALIDATION_HARNESS_RUN_REPORT_H_
#define EVENKEEL_TESTS_VALIDATION_HARNESS_RUN_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/validation/harness/case.h"
#include "tests/validation/harness/report.h"

namespace evenkeel::validation {

// Predicted over measured, less 1.
struct Errors {
  int64_t count = 0;
  double mean_absolute = 0, median = 0, worst = 0;
};

struct FamilyErrors {
  std::string family;  // with what sets the runs apart, such as "aws-dispatchers, dispatchers"
  int64_t runs = 0;
  Errors time;         // rows that are not weak
  Errors memory;       // weak rows too
  int64_t groups = 0;  // of at least three runs that differ in their settings alone
  double price = 0;    // mean of: measured time of the run predicted fastest, over the best, less 1
  double worst_price = 0;
  int64_t false_misfits = 0;  // runs that ran, and are said not to fit
  int64_t false_fits = 0;     // runs that ran out of memory, and are said to fit
};

std::vector<FamilyErrors> ErrorsOf(const std::vector<Result>& results);

// Prints each run's figures, measured and predicted, with the parts of its step.
void ReportEachRun(const std::vector<Result>& results);

// Prints a table of the families, and why rows are not covered.
void ReportRuns(const std::vector<FamilyErrors>& families, const std::vector<Uncovered>& uncovered);

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_RUN_REPORT_H_
