#include "server/convert/answer/plan_bytes.h"

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/timeline.pb.h"
#include "server/convert/answer/timeline_to_proto.h"
#include "server/convert/answer/to_proto.h"
#include "server/convert/deterministic_bytes.h"

namespace evenkeel::server {

std::string PlanBytes(const planner::Job& job, const planner::Plan& plan,
                      const std::string& plan_id) {
  v1::Plan message;
  PlanToProto(job, plan, plan_id, &message);
  return DeterministicBytes(message);
}

std::string EvaluationBytes(const planner::Job& job, const planner::Plan& plan) {
  v1::Plan message;
  EvaluationToProto(job, plan, &message);
  return DeterministicBytes(message);
}

std::string TimelineBytes(const planner::Timeline& timeline) {
  v1::Timeline message;
  Fill(timeline, &message);
  return DeterministicBytes(message);
}

}  // namespace evenkeel::server
