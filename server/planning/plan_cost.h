// Estimates the cost of a computation before it runs, in seconds of one core of the machine on
// which the estimate was fitted. The estimate is cheap, deterministic and right within a factor of
// a few. It is used to sort work into lanes and to weigh clients against each other.
#ifndef EVENKEEL_SERVER_PLANNING_PLAN_COST_H_
#define EVENKEEL_SERVER_PLANNING_PLAN_COST_H_

#include <cstdint>

#include "planner/job.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/job/offers_from_proto.h"

namespace evenkeel::server {

double PlanCost(const planner::Job& job);
double PlanCost(const OfferJobs& offers);
double ShortPlanCost(const planner::Job& job);  // of MakeShortPlan
double EvaluationCost(const EvaluationJob& evaluation);
double PackingCost(int64_t samples);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_PLAN_COST_H_
