// Converts the planner's output to the contract.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_TO_PROTO_H_

#include <string>

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::v1 {
class Plan;
}

namespace evenkeel::server {

// Fills `*out`, which must be empty. If the job does not fit, only the fields that the contract
// names for that case are set.
void PlanToProto(const planner::Job& job, const planner::Plan& plan, const std::string& plan_id,
                 v1::Plan* out);

// Fills in a plan that the caller wrote, as the contract describes EvaluatePlanResponse.evaluated.
void EvaluationToProto(const planner::Job& job, const planner::Plan& plan, v1::Plan* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_TO_PROTO_H_
