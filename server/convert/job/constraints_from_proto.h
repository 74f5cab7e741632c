// Converts the constraints on a plan.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_CONSTRAINTS_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_CONSTRAINTS_FROM_PROTO_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Constraints;
}

namespace evenkeel::server {

// Fills job->constraints and checks that some parallelism satisfies them all. The constraints apply
// to `model` and `cluster`, which are nullptr after violations in them. Bounds that exclude nothing
// are dropped, and a given partition fixes the pipeline degree, so that equal constraints are equal
// values.
void ConstraintsFromProto(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                          const planner::ModelSpec* model, const planner::Cluster* cluster,
                          planner::Job* job);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_CONSTRAINTS_FROM_PROTO_H_
