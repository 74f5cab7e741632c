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

// Converts the fields of Training.offload about modules. REQUIRES: constraints are converted.
void ModulesFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job);

// In a job with given modules, sets the recompute of layers to that of the caller's plan. The plan
// must recompute the same parts in all layers of a kind.
void HoldModules(const planner::PlanSpec& plan, const FieldPath& path, ViolationSink& sink,
                 planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_MODULES_FROM_PROTO_H_
