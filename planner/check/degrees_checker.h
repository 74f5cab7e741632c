// The part of the plan checker that checks the degrees of parallelism and the schedule.
#ifndef EVENKEEL_PLANNER_CHECK_DEGREES_CHECKER_H_
#define EVENKEEL_PLANNER_CHECK_DEGREES_CHECKER_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the faults of the plan's degrees, in words: whether they give the cluster's GPUs, divide
// the dimensions that their ranks share, and are allowed by the trainer and the job's constraints.
std::vector<std::string> CheckDegrees(const Job& job, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_DEGREES_CHECKER_H_
