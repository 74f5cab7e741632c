// Converts the trainer's execution settings, both ways.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_EXECUTION_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_EXECUTION_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Execution;
}

namespace evenkeel::server {

void ExecutionFromProto(const v1::Execution& from, const FieldPath& path, ViolationSink& sink,
                        planner::Execution* execution);
void ExecutionToProto(const planner::Execution& execution, v1::Execution* out);  // all fields

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_EXECUTION_FROM_PROTO_H_
