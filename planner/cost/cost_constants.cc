#include "planner/cost/cost_constants.h"

namespace evenkeel::planner {

double SustainedClock(GpuGeneration generation, NumberFormat products,
                      const CostConstants& constants) {
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

}  // namespace evenkeel::planner
