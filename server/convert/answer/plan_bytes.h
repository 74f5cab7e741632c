// Serialises plans and timelines. Equal values give equal bytes.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_PLAN_BYTES_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_PLAN_BYTES_H_

#include <string>

#include "planner/job.h"
#include "planner/plan.h"
#include "planner/simulate/timeline.h"

namespace evenkeel::server {

// Returns a v1::Plan: see PlanToProto.
std::string PlanBytes(const planner::Job& job, const planner::Plan& plan,
                      const std::string& plan_id);

// Returns a v1::Plan: see EvaluationToProto.
std::string EvaluationBytes(const planner::Job& job, const planner::Plan& plan);

// Returns a v1::Timeline.
std::string TimelineBytes(const planner::Timeline& timeline);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_PLAN_BYTES_H_
