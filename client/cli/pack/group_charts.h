// The chart of a report that shows packing groups step by step.
#ifndef EVENKEEL_CLIENT_CLI_PACK_GROUP_CHARTS_H_
#define EVENKEEL_CLIENT_CLI_PACK_GROUP_CHARTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::cli {

// Returns the class of the marks of a group, by its index.
std::string GroupStyle(size_t group);

// Steps of an epoch, each of one group.
struct GroupedSteps {
  size_t groups = 0;
  const std::vector<int32_t>* step_group;  // by step
  const std::vector<double>* ratios;       // attention, 0 to 1; a holed last step may lack one
  int64_t curriculum_steps = 0;            // number of steps at the start
};

// Draws a dot for each step at its ratio, on a logarithmic axis. If there are many steps, it draws
// evenly spaced ones. Below, it draws each group's share of the steps at each place.
std::string GroupStepChart(const GroupedSteps& steps);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_GROUP_CHARTS_H_
