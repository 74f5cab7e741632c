// Computations in the form in which the core runs them.
#ifndef EVENKEEL_SERVER_PLANNING_PLAN_WORK_H_
#define EVENKEEL_SERVER_PLANNING_PLAN_WORK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "planner/job.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/job/offers_from_proto.h"
#include "server/core/planning_core.h"
#include "server/planning/compute_plan.h"

namespace evenkeel::server {

// Returns the work of ComputePlan, or of the function that stands in for it.
Work PlanWork(ComputeFunction compute, const std::string& plan_id, planner::Job job);

// Returns the work of ComputeOffers. A single offer is planned by `compute`; several are compared,
// without `compute`.
Work PlanWork(ComputeFunction compute, const std::string& plan_id, OfferJobs offers);

// Returns the work of MakeShortPlan. The plan is not the one that `plan_id` names, so it must not
// be kept; it carries that id only to name the plan that it estimates.
Work ShortPlanWork(const std::string& plan_id, planner::Job job);

// Returns the work of ComputeEvaluation, with its caps.
Work EvaluationWork(std::shared_ptr<const EvaluationJob> evaluation, int64_t unit_cap,
                    int64_t token_cap);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_PLAN_WORK_H_
