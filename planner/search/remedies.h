// What would make a job fit.
#ifndef EVENKEEL_PLANNER_SEARCH_REMEDIES_H_
#define EVENKEEL_PLANNER_SEARCH_REMEDIES_H_

#include <functional>
#include <vector>

#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// REQUIRES that nothing fits. Each change that was tried and helps on its own, nearest first.
// Incomplete where `stop` says so.
std::vector<Remedy> FindRemedies(const Job& job, const Batching& batching,
                                 const std::function<bool()>& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_REMEDIES_H_
