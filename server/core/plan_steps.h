// The steps of a computation with their times, for traces.
#ifndef EVENKEEL_SERVER_CORE_PLAN_STEPS_H_
#define EVENKEEL_SERVER_CORE_PLAN_STEPS_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace evenkeel::server {

struct PlanStep {
  const char* name;  // "look_up", "queue", or the name of a phase of the planner
  std::chrono::steady_clock::time_point from, to;
};

// Many offers have many phases. Steps beyond this number are left out.
inline constexpr size_t kMostPlanSteps = 64;

using PlanSteps = std::vector<PlanStep>;
using PlanStepsPtr = std::shared_ptr<const PlanSteps>;

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_PLAN_STEPS_H_
