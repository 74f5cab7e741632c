// Why a job does not fit, and what would make it fit.
#ifndef EVENKEEL_PLANNER_EXPLAIN_MISFIT_H_
#define EVENKEEL_PLANNER_EXPLAIN_MISFIT_H_

#include <optional>

#include "planner/base/stop.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the parallelism whose fullest stage lacks the least under its best partition for memory,
// how much of this is proven, and the tried remedies that help. Work is limited, so not all may be
// looked at. A shortage of 0 or less means that the search missed a plan, which is a defect.
// Returns nullopt if stopped. REQUIRES that the search found nothing that fits.
std::optional<Misfit> ExplainMisfit(const Job& job, const Batching& batching, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_EXPLAIN_MISFIT_H_
