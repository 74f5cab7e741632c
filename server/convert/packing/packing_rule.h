// Converts the batch rule between the contract and the packers.
#ifndef EVENKEEL_SERVER_CONVERT_PACKING_PACKING_RULE_H_
#define EVENKEEL_SERVER_CONVERT_PACKING_PACKING_RULE_H_

#include <cstdint>

#include "evenkeel/v1/batching.pb.h"
#include "planner/job.h"
#include "planner/packing/pack_dataset.h"
#include "planner/packing/packer.h"
#include "planner/packing/packing.h"
#include "server/convert/checks.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// The bound keeps the sum of squared sample lengths of a pack below 2^63.
inline constexpr IntRange kPackTokenCaps = {0, int64_t{1} << 32};
inline constexpr IntRange kOrderWindows = {1, planner::kWholeEpoch};
inline constexpr int64_t kDefaultOrderWindow = 16;

// Returns kBalanced if the field is unset, or after a violation for an unknown value.
planner::Packer PackerFromProto(v1::Packer packer, const FieldPath& path, ViolationSink& sink);

// Reads the fields marked "Rule.", with their defaults, into job->pack, job->deal and job->times.
// The others are ignored, so that a plan's rule can be passed unchanged.
void RuleFromProto(const v1::BatchRule& from, const FieldPath& path, ViolationSink& sink,
                   planner::PackingJob* job);

// Writes the scales of several encoders; nothing for one.
void ScalesToProto(const planner::PerEncoder<int64_t>& scales, v1::BatchRule* out);
// Writes the pack times. REQUIRES: the rule has its scales, which say how many encoders there are.
void TimesToProto(const planner::PackTimes& times, v1::BatchRule* rule);

// Inverts RuleFromProto.
void RuleToProto(const planner::PackingJob& job, v1::BatchRule* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PACKING_PACKING_RULE_H_
