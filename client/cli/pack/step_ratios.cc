#include "client/cli/pack/step_ratios.h"

#include <algorithm>

namespace evenkeel::cli {

std::vector<StepShape> EqualSteps(size_t order_size, int64_t ranks, int64_t packs_per_rank) {
  StepShape step = {0, static_cast<size_t>(ranks), static_cast<size_t>(packs_per_rank)};
  std::vector<StepShape> steps;
  for (; step.first < order_size; step.first = step.end()) steps.push_back(step);
  return steps;
}

std::vector<StepShape> GroupSteps(std::span<const int32_t> step_group,
                                  std::span<const planner::LengthGroup> groups) {
  std::vector<StepShape> steps;
  size_t first = 0;
  for (const int32_t g : step_group) {
    const planner::LengthGroup& group = groups[static_cast<size_t>(g)];
    steps.push_back(
        {first, static_cast<size_t>(group.ranks), static_cast<size_t>(group.packs_per_rank)});
    first = steps.back().end();
  }
  return steps;
}

std::vector<double> StepRatios(const std::vector<int64_t>& order,
                               const std::vector<StepShape>& steps,
                               const std::function<double(size_t pack)>& value) {
  std::vector<double> ratios;
  for (const StepShape& step : steps) {
    double most = 0, sum = 0;
    bool holed = false;
    for (size_t rank = step.first; rank < step.end(); rank += step.slots) {
      double total = 0;
      bool any = false;
      for (size_t slot = rank; slot < rank + step.slots; ++slot) {
        if (order[slot] < 0) continue;
        any = true;
        total += value(static_cast<size_t>(order[slot]));
      }
      holed = holed || !any;
      most = std::max(most, total);
      sum += total;
    }
    if (holed && steps.size() > 1) continue;
    ratios.push_back(most > 0 ? 1 - sum / (most * static_cast<double>(step.ranks)) : 0);
  }
  return ratios;
}

}  // namespace evenkeel::cli
