// The trainers for which a job asks for launch settings.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_LAUNCH_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_LAUNCH_FROM_PROTO_H_

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// `path` is that of the job. Each framework may occur at most once; their order does not matter.
void LaunchFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                     planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_LAUNCH_FROM_PROTO_H_
