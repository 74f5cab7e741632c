// Finds changes that make a job fit.
#ifndef EVENKEEL_PLANNER_EXPLAIN_REMEDIES_H_
#define EVENKEEL_PLANNER_EXPLAIN_REMEDIES_H_

#include <vector>

#include "planner/base/stop.h"
#include "planner/explain/apply_remedy.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns each change that helps on its own, nearest first: the job with it was planned, and has a
// plan. Incomplete if stopped. REQUIRES that nothing fits, and that `misfit` says why.
std::vector<Remedy> FindRemedies(const Job& job, const Batching& batching, const Misfit& misfit,
                                 const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_REMEDIES_H_
