// What is kept in host memory.
#ifndef EVENKEEL_SERVER_CONVERT_OFFLOAD_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_OFFLOAD_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/checks.h"

namespace evenkeel::v1 {
class Job;
class PlanSubject;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Converts Training.offload of a job whose cluster and training are converted otherwise.
void OffloadFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job);

// Refuses a share that the planner would have to choose: a plan is evaluated with one.
void CheckShareGiven(const planner::Job& job, const FieldPath& path, ViolationSink& sink);

// Writes what the job says of it and of the host.
void OffloadToProto(const planner::Job& job, v1::PlanSubject* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_OFFLOAD_FROM_PROTO_H_
