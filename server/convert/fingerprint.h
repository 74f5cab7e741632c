// The identity of a plan, and of a dataset.
#ifndef EVENKEEL_SERVER_CONVERT_FINGERPRINT_H_
#define EVENKEEL_SERVER_CONVERT_FINGERPRINT_H_

#include <string>
#include <string_view>
#include <vector>

#include "planner/job.h"
#include "server/convert/from_proto.h"

namespace evenkeel::server {

// "plan-" and 32 hexadecimal digits: the first half of the SHA-256 over every field of the job, the
// planner's revision and the catalogue's version. What was measured of the job's model counts;
// where nothing was, there is nothing of it in the digest. Equal jobs have equal ids on every
// platform; a plan that may differ has another id.
std::string PlanId(const planner::Job& job);

// Likewise of a comparison of offers: `offers` are CanonicalBytes of their jobs, `objective` says
// what is best.
std::string ComparisonId(const std::vector<std::string>& offers,
                         const planner::Objective& objective);

// "prof-" and 32 hexadecimal digits: likewise of a request's bytes.
std::string ProfileDigest(const std::string& request_bytes);

// What PlanId digests. Versioned, self-delimiting, independent of how protobuf serialises. For
// tests.
std::string CanonicalBytes(const planner::Job& job);

// "evaluation-" and 32 hexadecimal digits: likewise over the evaluation's jobs and the caller's
// plan. `unit_cap` and `token_cap` are those of ComputeEvaluation.
std::string EvaluationId(const EvaluationJob& evaluation, int64_t unit_cap, int64_t token_cap);

// "ds-" and 32 hexadecimal digits: likewise over the bins, which are distinct and ascending.
std::string DatasetRef(const std::vector<planner::LengthBin>& bins);
bool IsDatasetRef(std::string_view text);  // whether it has that form

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_FINGERPRINT_H_
