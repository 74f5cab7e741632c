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

// Measured values in the stated interval of their prediction.
struct Inside {
  int64_t count = 0, inside = 0;
  double half_width = 0;  // median of (high - low) / 2
};

struct FamilyErrors {
  std::string family;  // with what separates runs, such as "aws-dispatchers, dispatchers"
  int64_t runs = 0;
  Errors time;    // rows that are not weak
  Errors memory;  // includes weak rows
  Inside time_inside, memory_inside;
  int64_t groups = 0;  // with at least three runs that differ only in their settings
  double price = 0;    // mean of (measured time of the predicted fastest run) / best - 1
  double worst_price = 0;
  int64_t pairs = 0, swapped = 0;  // pairs of runs of one group, and those in the wrong order
  int64_t false_misfits = 0;  // runs that ran, but do not fit at the lower end of their interval
  int64_t false_fits = 0;     // runs that ran out of memory, but fit at the upper end
};

// How runs are grouped: by the source that published them, or by what they have in common.
// kSource: a family with the rows that its report sets apart.
enum class By { kFamily, kSource, kTrainer, kGpu, kPrecision, kRegime };

std::vector<FamilyErrors> ErrorsOf(const std::vector<Result>& results, By by = By::kFamily);

// Prints each run's figures, measured and predicted, with the parts of its step.
void ReportEachRun(const std::vector<Result>& results);

// Prints tables by family, trainer, GPU and regime, and why rows are not covered. Returns false if
// fewer than kLeastInside of the timed runs of a large family are inside their intervals.
bool ReportRuns(const std::vector<Result>& results, const std::vector<Uncovered>& uncovered);
inline constexpr double kLeastInside = 0.6;
inline constexpr int64_t kLargeFamily = 20;

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_RUN_REPORT_H_
