// Converts a plan's launch settings from the planner's output to the contract.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_LAUNCH_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_LAUNCH_TO_PROTO_H_

#include "evenkeel/v1/plan.pb.h"
#include "planner/plan.h"

namespace evenkeel::server {

void Fill(const planner::Launch& launch, v1::Launch* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_LAUNCH_TO_PROTO_H_
