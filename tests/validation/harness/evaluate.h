// The model's figures for one case, computed like users' plans (EvaluatePlan).
#ifndef EVENKEEL_TESTS_VALIDATION_HARNESS_EVALUATE_H_
#define EVENKEEL_TESTS_VALIDATION_HARNESS_EVALUATE_H_

#include <optional>
#include <string>
#include <vector>

#include "planner/cost/interval.h"
#include "tests/validation/harness/case.h"

namespace evenkeel::validation {

struct Outcome {
  planner::Regime regime = planner::Regime::kDevice;
  planner::Interval step_interval, memory_interval;
  std::vector<std::optional<double>> predicted;  // like Case::measured; nullopt if `fault` is set
  std::vector<planner::MemoryParts> stages;
  std::vector<int64_t> stage_ns;  // passes of a micro-batch over each stage
  planner::StepTime step;
  std::string fault;
  std::string chosen;  // micro-batch or recompute that the row left open
};

Outcome Evaluate(const Case& run);

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_EVALUATE_H_
