// How far predictions lie from measurements, as a rule: docs/COST_MODEL.md, section 6.
#ifndef EVENKEEL_PLANNER_COST_UNCERTAINTY_H_
#define EVENKEEL_PLANNER_COST_UNCERTAINTY_H_

#include <string>

#include "planner/cost/gpu_rates.h"

namespace evenkeel::planner {

// Mean absolute errors, as shares of what was measured.
struct Uncertainty {
  double step_time = 0;
  double memory = 0;
  bool measured = false;  // there are published runs on this kind of GPU
  std::string source;     // in words
};

// From the rows that tests/validation holds predictions to. tests/validation/harness_test.cc keeps
// the figures true.
Uncertainty UncertaintyOf(GpuFamily family);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_UNCERTAINTY_H_
