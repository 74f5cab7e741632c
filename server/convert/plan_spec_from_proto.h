// A plan that the caller wrote: what EvaluatePlan looks at of it.
#ifndef EVENKEEL_SERVER_CONVERT_PLAN_SPEC_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_PLAN_SPEC_FROM_PROTO_H_

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
  // Where in the request each run of layers stands: by chunk and run, as spec.chunks.
  std::vector<std::vector<std::string>> run_fields;
};

// Degrees, schedule and stages of `from`, at `path`, for a valid job. Layers are checked against
// the model one after the other; a group of unspecified kind becomes the runs that it covers.
PlanSpec PlanSpecFromProto(const v1::Plan& from, const FieldPath& path, const planner::Job& job,
                           ViolationSink& sink);

// Lays the fields of a rule that EvaluatePlan looks at over those of `job`.
void OverlayBatchRule(const v1::BatchRule& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job);

// What the planner found wrong with a spec, in the caller's terms: `field` such as
// "chunks[2].layers[0].count" by the path of that run in the request. `plan`: the path of the plan.
Violation ViolationOf(const PlanSpec& spec, const planner::SpecFault& fault, const FieldPath& plan);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PLAN_SPEC_FROM_PROTO_H_
