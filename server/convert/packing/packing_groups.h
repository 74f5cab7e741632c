// Converts packing groups between the contract and the packers.
#ifndef EVENKEEL_SERVER_CONVERT_PACKING_PACKING_GROUPS_H_
#define EVENKEEL_SERVER_CONVERT_PACKING_PACKING_GROUPS_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <vector>

#include "planner/packing/group_figures.h"
#include "planner/packing/length_groups.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class PackDatasetStart;
class PackDatasetSummary;
class PackingGroup;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Reads the fields marked "Rule.", with their defaults; the others are ignored, so that a plan's
// groups can be passed unchanged. `path` is that of the message with the list `groups`.
// `most_slots` is the limit for a step.
std::vector<planner::LengthGroup> GroupsFromProto(
    const google::protobuf::RepeatedPtrField<v1::PackingGroup>& from, const FieldPath& path,
    int64_t most_slots, ViolationSink& sink);

// Checks the fields that must not be set together with groups, and those that need them.
void CheckBesideGroups(const v1::PackDatasetStart& start, const FieldPath& path,
                       ViolationSink& sink);

// Fills in all fields of the summary that are about groups.
void GroupsToProto(const planner::GroupFigures& figures, double mean_rank_tokens,
                   v1::PackDatasetSummary* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PACKING_PACKING_GROUPS_H_
