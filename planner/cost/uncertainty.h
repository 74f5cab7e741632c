// The usual distance between predictions and measurements: docs/COST_MODEL.md, section 6.
#ifndef EVENKEEL_PLANNER_COST_UNCERTAINTY_H_
#define EVENKEEL_PLANNER_COST_UNCERTAINTY_H_

#include <string>

#include "planner/cost/gpu_rates.h"

namespace evenkeel::planner {

// Mean absolute errors, as shares of the measured value.
struct Uncertainty {
  double step_time = 0;
  double memory = 0;
  bool measured = false;  // there are published runs on this kind of GPU
  std::string source;     // in words
};

// Returns the errors on the rows that tests/validation compares predictions with.
// tests/validation/harness_test.cc checks these figures.
Uncertainty UncertaintyOf(GpuFamily family);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_UNCERTAINTY_H_
