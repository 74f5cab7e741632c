// The identity of a plan, and of a dataset.
#ifndef EVENKEEL_SERVER_PLANNING_FINGERPRINT_H_
#define EVENKEEL_SERVER_PLANNING_FINGERPRINT_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "server/convert/job/from_proto.h"

namespace evenkeel::server {

// Returns "plan-" and 32 hexadecimal digits: the first half of the SHA-256 over every field of the
// job, the planner's revision and the catalogue's version. Measurements of the job's model are
// included; without any, the digest contains nothing about them. Equal jobs have equal ids on every
// platform. Jobs whose plans may differ have different ids.
std::string PlanId(const planner::Job& job);

// Returns the id of a comparison of offers, in the same form. `offers` are CanonicalBytes of their
// jobs, and `objective` defines which is best.
std::string ComparisonId(const std::vector<std::string>& offers,
                         const planner::Objective& objective);

// Returns the bytes that PlanId digests: versioned, self-delimiting, and independent of how
// protobuf serialises. For tests.
std::string CanonicalBytes(const planner::Job& job);

// Returns "evaluation-" and 32 hexadecimal digits, a digest of the evaluation's jobs and the
// caller's plan. `unit_cap` and `token_cap` are those of ComputeEvaluation.
std::string EvaluationId(const EvaluationJob& evaluation, int64_t unit_cap, int64_t token_cap);

// Returns "ds-" and 32 hexadecimal digits, a digest of the bins, which are distinct and ascending.
std::string DatasetRef(const std::vector<planner::LengthBin>& bins);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_FINGERPRINT_H_
