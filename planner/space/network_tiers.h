// How many consecutive ranks share a unit of a tier of the network beyond the node.
#ifndef EVENKEEL_PLANNER_SPACE_NETWORK_TIERS_H_
#define EVENKEEL_PLANNER_SPACE_NETWORK_TIERS_H_

#include <cstdint>

#include "planner/job.h"

namespace evenkeel::planner {

inline constexpr char kDomainName[] = "scale-up domain";

// Returns the domain of a GPU type's scale-up link in nodes of this many GPUs; none if it does not
// span two.
NetworkUnit DomainOf(const GpuSpec& gpu, int64_t gpus_per_node);

// Returns the ranks of a scale-up domain: the most whole nodes, of those that a domain has, that
// make domains of equal size. Those of a node if a domain does not span nodes.
int64_t DomainGpus(const Cluster& cluster);

// Returns the ranks of a pod: the most whole domains that make pods of equal size. All ranks
// without such a tier.
int64_t PodGpus(const Cluster& cluster);

// Return the fewest GPUs, at least `gpus`, or the most, at most `gpus`, that fill the units that a
// job must fill. A part of one unit is left as it is.
int64_t GpusOfWholeUnits(const Cluster& cluster, int64_t gpus);
int64_t GpusInWholeUnits(const Cluster& cluster, int64_t gpus);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_NETWORK_TIERS_H_
