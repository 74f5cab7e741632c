// The main entry point of the planner: makes a checked plan from a valid job. Pure: the same job
// gives the same plan, to the byte.
#ifndef EVENKEEL_PLANNER_MAKE_PLAN_H_
#define EVENKEEL_PLANNER_MAKE_PLAN_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/plan.h"
#include "planner/plan_hooks.h"

namespace evenkeel::planner {

enum class PlanEnd {
  kComplete,  // `plan` is valid: it fits, or says why nothing fits
  kStopped,   // `stop` ended the work; there is no plan
  // The independent checker found `faults`, which are a defect of the planner. There is no plan.
  kCheckFailed,
};

struct PlanResult {
  PlanEnd end = PlanEnd::kStopped;
  Plan plan;
  std::vector<std::string> faults;
};

PlanResult MakePlan(const Job& job, const PlanHooks& hooks);

// Makes a plan by a search with far less work, only for its figures: it has no ladder,
// alternatives, comparisons with other jobs, launch settings or cost of the trainer's limits. It is
// checked like any plan, so it fits and its step is that of a real layout. Its proof counts what
// was left out, and its lower bound holds for every plan.
PlanResult MakeShortPlan(const Job& job, const PlanHooks& hooks);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MAKE_PLAN_H_
