// Converts the model of a job, given by catalogue name, as a pair of names, or component by
// component.
#ifndef EVENKEEL_SERVER_CONVERT_MODEL_MODEL_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_MODEL_MODEL_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Model;
}

namespace evenkeel::server {

// Fills job->model and records the basis of its dimensions in job->figures. Returns false after
// violations.
bool ModelFromProto(const v1::Model& from, const FieldPath& path, ViolationSink& sink,
                    planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MODEL_MODEL_FROM_PROTO_H_
