// Modules whose inputs are in host memory.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_MODULES_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_MODULES_FROM_PROTO_H_

#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "server/convert/checks.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Job;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Converts what Training.offload says of modules, of a job with constraints.
void ModulesFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job);

// Sets what layers recompute, in a job with given modules, to what the caller's plan recomputes.
// This must be the same in all layers of a kind.
void HoldModules(const planner::PlanSpec& plan, const FieldPath& path, ViolationSink& sink,
                 planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_MODULES_FROM_PROTO_H_
