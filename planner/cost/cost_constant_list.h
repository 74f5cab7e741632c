// The cost constants by name, each with its basis and source, for fits and tests that vary them.
#ifndef EVENKEEL_PLANNER_COST_COST_CONSTANT_LIST_H_
#define EVENKEEL_PLANNER_COST_COST_CONSTANT_LIST_H_

#include <span>

#include "planner/cost/cost_constants.h"
#include "planner/job.h"

namespace evenkeel::planner {

struct CostConstant {
  const char* name;
  double CostConstants::*value;
  Basis basis;
  const char* source;
};

std::span<const CostConstant> CostConstantList();

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_COST_CONSTANT_LIST_H_
