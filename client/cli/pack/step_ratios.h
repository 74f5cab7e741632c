// DistRatio of each step of an order.
#ifndef EVENKEEL_CLIENT_CLI_PACK_STEP_RATIOS_H_
#define EVENKEEL_CLIENT_CLI_PACK_STEP_RATIOS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/packing/length_groups.h"

namespace evenkeel::cli {

// The place of a step in an order: `ranks` x `slots` entries.
struct StepShape {
  size_t first = 0;
  size_t ranks = 1, slots = 1;

  size_t end() const { return first + ranks * slots; }
};

// Returns the shapes of steps that are all alike.
std::vector<StepShape> EqualSteps(size_t order_size, int64_t ranks, int64_t packs_per_rank);

// Returns the shapes of steps that each run one group.
std::vector<StepShape> GroupSteps(std::span<const int32_t> step_group,
                                  std::span<const planner::LengthGroup> groups);

// Returns the ratios in order, computed from the totals of `value` on each rank. A step in which
// some rank has no pack is left out, unless it is the only step.
std::vector<double> StepRatios(const std::vector<int64_t>& order,
                               const std::vector<StepShape>& steps,
                               const std::function<double(size_t pack)>& value);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_STEP_RATIOS_H_
