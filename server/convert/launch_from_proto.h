// Converts launch settings, both ways: the trainers that a job asks for, and the settings of its
// plan.
#ifndef EVENKEEL_SERVER_CONVERT_LAUNCH_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_LAUNCH_FROM_PROTO_H_

#include "evenkeel/v1/job.pb.h"
#include "evenkeel/v1/plan.pb.h"
#include "planner/job.h"
#include "planner/plan.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// `path` is that of the job. Each framework may occur at most once; their order does not matter.
void LaunchFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                     planner::Job* job);

void Fill(const planner::Launch& launch, v1::Launch* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_LAUNCH_FROM_PROTO_H_
