// The identity of a plan, and of a dataset.
#ifndef EVENKEEL_SERVER_CONVERT_FINGERPRINT_H_
#define EVENKEEL_SERVER_CONVERT_FINGERPRINT_H_

#include <string>
#include <string_view>
#include <vector>

#include "planner/job.h"

namespace evenkeel::server {

// "plan-" and 32 hexadecimal digits: the first half of the SHA-256 over every field of the job, the
// planner's revision and the catalogue's version. Equal jobs have equal ids on every platform; a
// plan that may differ has another id.
std::string PlanId(const planner::Job& job);

// What PlanId digests. Versioned, self-delimiting, independent of how protobuf serialises. For
// tests.
std::string CanonicalBytes(const planner::Job& job);

// "ds-" and 32 hexadecimal digits: likewise over the bins, which are distinct and ascending.
std::string DatasetRef(const std::vector<planner::LengthBin>& bins);
bool IsDatasetRef(std::string_view text);  // whether it has that form

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_FINGERPRINT_H_
