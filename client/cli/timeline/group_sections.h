// Packing groups in the report of a plan.
#ifndef EVENKEEL_CLIENT_CLI_TIMELINE_GROUP_SECTIONS_H_
#define EVENKEEL_CLIENT_CLI_TIMELINE_GROUP_SECTIONS_H_

#include <string>

#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::cli {

// Shows the groups, how they were chosen, and other ways to batch the data. Returns "" without
// groups.
std::string GroupsSection(const v1::Plan& plan);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TIMELINE_GROUP_SECTIONS_H_
