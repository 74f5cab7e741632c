// The phases of making a plan, and how a caller watches and stops them.
#ifndef EVENKEEL_PLANNER_PLAN_HOOKS_H_
#define EVENKEEL_PLANNER_PLAN_HOOKS_H_

#include <functional>

#include "planner/base/stop.h"

namespace evenkeel::planner {

// The phases of MakePlan. A phase may be entered several times. For progress and metrics.
enum class Phase { kBatchRule, kSearch, kSimulate, kExplain, kCheck };
inline constexpr int kPhases = 5;
const char* PhaseName(Phase phase);  // "batch_rule", "search", ...

// The planner's only connections to the outside world. Both may be empty.
struct PlanHooks {
  Stop stop;                         // asked often; MakePlan gives up soon after it returns true
  std::function<void(Phase)> enter;  // called when a phase begins

  void Enter(Phase phase) const {
    if (enter) enter(phase);
  }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_HOOKS_H_
