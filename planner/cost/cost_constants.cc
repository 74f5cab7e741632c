#include "planner/cost/cost_constants.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

double ClockOf(GpuGeneration generation, NumberFormat products, const CostConstants& constants) {
  switch (generation) {
    case GpuGeneration::kAmpere:
      return constants.ampere_clock;
    case GpuGeneration::kAda:
      return constants.ada_clock;
    case GpuGeneration::kHopper:
      return constants.hopper_clock;
    case GpuGeneration::kBlackwell:
      return products == NumberFormat::k16Bit ? constants.blackwell_clock
                                              : constants.blackwell_low_clock;
    case GpuGeneration::kOther:
      break;
  }
  return constants.other_clock;
}

// Returns the cube root of x in (0, 8) by Newton's method, only with sums and products, so that
// every platform computes the same bits.
double CubeRoot(double x) {
  double root = 1;
  for (int step = 0; step < 60; ++step) root -= (root - x / (root * root)) / 3;
  return root;
}

}  // namespace

double SustainedClock(const GpuSpec& gpu, NumberFormat products, const CostConstants& constants) {
  const double clock = gpu.power_bound ? ClockOf(gpu.costs.generation, products, constants) : 1;
  double full = gpu.full_power_watts > 0 ? gpu.full_power_watts : gpu.power_watts;
  // Below 16 bits, boards with more power are not known to be faster.
  if (products != NumberFormat::k16Bit) full = std::max(full, gpu.power_watts);
  const double power = gpu.power_limit_watts > 0 ? gpu.power_limit_watts : gpu.power_watts;
  if (power <= 0 || power == full) return clock;
  return std::min(1.0, clock * CubeRoot(power / full));
}

}  // namespace evenkeel::planner
