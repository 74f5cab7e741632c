// The planner's front door: a valid job in, a checked plan out. Pure: the same job gives the same
// plan, to the byte.
#ifndef EVENKEEL_PLANNER_MAKE_PLAN_H_
#define EVENKEEL_PLANNER_MAKE_PLAN_H_

#include <functional>
#include <string>
#include <vector>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// What MakePlan is busy with, in this order. For progress and metrics.
enum class Phase { kBatchRule, kSearch, kSimulate, kExplain, kCheck };
inline constexpr int kPhases = 5;
const char* PhaseName(Phase phase);  // "batch_rule", "search", ...

// The outside world, as far as the planner may know of it. Both may be empty.
struct PlanHooks {
  Stop stop;                         // asked often; true: give up soon
  std::function<void(Phase)> enter;  // called when a phase begins
};

enum class PlanEnd {
  kComplete,     // `plan` is valid: it fits, or says why nothing does
  kStopped,      // `stop` said so; no plan
  kCheckFailed,  // the independent checker found the faults in `faults`: a defect of the planner;
                 // no plan
};

struct PlanResult {
  PlanEnd end = PlanEnd::kStopped;
  Plan plan;
  std::vector<std::string> faults;
};

PlanResult MakePlan(const Job& job, const PlanHooks& hooks);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MAKE_PLAN_H_
