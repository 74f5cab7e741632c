// Converts a simulated step from the planner's output to the contract.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_TIMELINE_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_TIMELINE_TO_PROTO_H_

#include "planner/simulate/timeline.h"

namespace evenkeel::v1 {
class Timeline;
}  // namespace evenkeel::v1

namespace evenkeel::server {

void Fill(const planner::Timeline& timeline, v1::Timeline* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_TIMELINE_TO_PROTO_H_
