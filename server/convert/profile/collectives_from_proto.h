// Checks and converts the collectives of a RecordProfileRequest.
#ifndef EVENKEEL_SERVER_CONVERT_PROFILE_COLLECTIVES_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_PROFILE_COLLECTIVES_FROM_PROTO_H_

#include "planner/cost/measured_profile.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class RecordProfileRequest;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Fills the collectives of `profile`, whose GPU type is set. Also refuses everything of the request
// that belongs to a model.
void CollectivesFromProto(const v1::RecordProfileRequest& request, ViolationSink& sink,
                          planner::MeasuredProfile* profile);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PROFILE_COLLECTIVES_FROM_PROTO_H_
