// Writes every field of a plan as text, to compare plans to the last bit.
#ifndef EVENKEEL_TESTS_PLANNER_PLAN_DUMP_H_
#define EVENKEEL_TESTS_PLANNER_PLAN_DUMP_H_

#include <string>

#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the text. Reals are in hexadecimal.
std::string DumpPlan(const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_TESTS_PLANNER_PLAN_DUMP_H_
