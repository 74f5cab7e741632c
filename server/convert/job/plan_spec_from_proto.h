// Converts the part of a caller's plan that EvaluatePlan uses.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_PLAN_SPEC_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_PLAN_SPEC_FROM_PROTO_H_

#include <string>
#include <vector>

#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class BatchRule;
class Plan;
}  // namespace evenkeel::v1

namespace evenkeel::server {

struct PlanSpec {
  planner::PlanSpec spec;
  // Path in the request of each run of layers, by chunk and run as in spec.chunks.
  std::vector<std::vector<std::string>> run_fields;
};

// Converts degrees, schedule and stages of `from`, at `path`, for a valid job. Layers are checked
// against the model one after the other; a group of unspecified kind becomes the runs that it
// covers.
PlanSpec PlanSpecFromProto(const v1::Plan& from, const FieldPath& path, const planner::Job& job,
                           ViolationSink& sink);

// Overrides the rule of `job` with the fields of the plan's that EvaluatePlan uses. A plan for
// padded micro-batches has none to override, but must be for those of the job.
void OverlayBatchRule(const v1::Plan& plan, const FieldPath& plan_path, ViolationSink& sink,
                      planner::Job* job);

// Translates a fault that the planner found in a spec into the caller's terms: a `field` such as
// "chunks[2].layers[0].count" becomes the path of that run in the request. `plan` is the path of
// the plan.
Violation ViolationOf(const PlanSpec& spec, const planner::SpecFault& fault, const FieldPath& plan);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_PLAN_SPEC_FROM_PROTO_H_
