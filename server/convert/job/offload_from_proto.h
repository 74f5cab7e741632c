// The offload of a job to host memory.
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

// Converts the fields of Training.offload about activations. REQUIRES: constraints are converted.
void ActivationsFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                          planner::Job* job);

// Sets the choices of offload that the job leaves to the planner to those in the plan's report.
// REQUIRES: both have an offload.
void TakeOffloadOf(const v1::Plan& plan, v1::Job* job);

// Refuses a share or a number of layers that the planner would have to choose, because a caller's
// plan must give it.
void CheckShareGiven(const planner::Job& job, const FieldPath& path, ViolationSink& sink);

// Refuses a plan that the trainer cannot run with the activations that the job offloads.
void CheckOffloadOf(const planner::PlanSpec& plan, const planner::Job& job, const FieldPath& path,
                    ViolationSink& sink);

// Writes the job's settings of its offload and of the host.
void OffloadToProto(const planner::Job& job, v1::PlanSubject* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_OFFLOAD_FROM_PROTO_H_
