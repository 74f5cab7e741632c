// Converts packing groups, and how they were chosen, from the planner's output to the contract.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_GROUPS_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_GROUPS_TO_PROTO_H_

#include "planner/plan.h"

namespace evenkeel::v1 {
class Plan;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Fills packing_groups, group_runs and group_choice; does nothing for a plan without groups.
void FillGroups(const planner::Plan& plan, v1::Plan* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_GROUPS_TO_PROTO_H_
