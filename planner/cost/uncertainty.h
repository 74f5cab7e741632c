// The usual distance between predictions and measurements: docs/COST_MODEL.md, section 6.
#ifndef EVENKEEL_PLANNER_COST_UNCERTAINTY_H_
#define EVENKEEL_PLANNER_COST_UNCERTAINTY_H_

#include <string>

#include "planner/hardware/gpu_costs.h"

namespace evenkeel::planner {

// Mean absolute errors, as shares of the measured value.
struct Uncertainty {
  double step_time = 0;  // on published runs that nothing was fitted to; 0 if there are none
  double memory = 0;
  std::string source;  // in words: the runs, or why there are none
};

// Returns the errors of a GPU's generation on the published runs that tests/validation compares
// predictions with, of models with encoders or of plain language models.
// tests/validation/harness_test.cc and omnibal_ladder_test.cc hold these figures to the runs.
Uncertainty UncertaintyOf(const GpuCosts& gpu, bool has_encoders);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_UNCERTAINTY_H_
