// Converts the objective and how often nodes fail.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_OBJECTIVE_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_OBJECTIVE_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Job;
class Objective;
class Reliability;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Fills job->objective and job->reliability from the fields of `from`; `path` is that of the job.
// Aims that are equivalent for one offer become one, so that equal plans have equal ids.
void ObjectiveFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                        planner::Job* job);

void ObjectiveToProto(const planner::Objective& objective, v1::Objective* out);
void ReliabilityToProto(const planner::Reliability& reliability, v1::Reliability* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_OBJECTIVE_FROM_PROTO_H_
