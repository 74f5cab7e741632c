// Which ranks of a plan share a unit of a tier of the network.
#ifndef EVENKEEL_PLANNER_SPACE_PLACEMENT_TIERS_H_
#define EVENKEEL_PLANNER_SPACE_PLACEMENT_TIERS_H_

#include <vector>

#include "planner/job.h"
#include "planner/space/parallelism.h"
#include "planner/space/placement.h"

namespace evenkeel::planner {

// Returns the tiers beyond the node that the cluster has, innermost first. REQUIRES: the cluster
// admits these degrees.
std::vector<PlacementTier> TiersOf(const Job& job, const Parallelism& p);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_PLACEMENT_TIERS_H_
