// The charts of the report of `pack`.
#ifndef EVENKEEL_CLIENT_CLI_PACK_REPORT_CHARTS_H_
#define EVENKEEL_CLIENT_CLI_PACK_REPORT_CHARTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::cli {

// Micro-batches of one case.
struct PackRow {
  std::string name;
  std::string style;  // class of its marks
  std::vector<int64_t> values;
};

// Draws a histogram of each row over a common axis, one above the other. `cap` is 0 for none.
std::string PackChart(const std::string& what, const std::vector<PackRow>& rows, int64_t cap);

// Steps of one case, in order.
struct StepRow {
  std::string style;
  const std::vector<double>* ratios;  // 0 to 1
};

// Draws ratios over the epoch: the mean, and the range from least to most where steps share a
// place.
std::string StepChart(const std::string& what, const std::vector<StepRow>& rows);

// Draws the share of the steps at or below each ratio, on a logarithmic axis.
std::string ShareChart(const std::string& what, const std::vector<StepRow>& rows);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_REPORT_CHARTS_H_
