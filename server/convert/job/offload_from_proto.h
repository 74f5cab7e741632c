// What is kept in host memory.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_OFFLOAD_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_OFFLOAD_FROM_PROTO_H_

#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "server/convert/checks.h"

namespace evenkeel::v1 {
class Job;
class Plan;
class PlanSubject;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Converts Training.offload of a job whose cluster and training are converted otherwise.
void OffloadFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job);

// Converts what Training.offload says of activations, of a job with constraints.
void ActivationsFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                          planner::Job* job);

// Sets what the job leaves to the planner to what the plan's own report says that it offloads.
// REQUIRES: both have an offload.
void TakeOffloadOf(const v1::Plan& plan, v1::Job* job);

// Refuses a share or a number of layers that the planner would have to choose, because a caller's
// plan must give it.
void CheckShareGiven(const planner::Job& job, const FieldPath& path, ViolationSink& sink);

// Refuses a plan that the trainer cannot run with the activations that the job offloads.
void CheckOffloadOf(const planner::PlanSpec& plan, const planner::Job& job, const FieldPath& path,
                    ViolationSink& sink);

// Writes what the job says about its offload and about the host.
void OffloadToProto(const planner::Job& job, v1::PlanSubject* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_OFFLOAD_FROM_PROTO_H_
