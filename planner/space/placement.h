// The nodes of ranks, and the memory that a node needs for them.
#ifndef EVENKEEL_PLANNER_SPACE_PLACEMENT_H_
#define EVENKEEL_PLANNER_SPACE_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::planner {

// Ranks that share a unit of a tier of the network: unit = rank / ranks.
struct PlacementTier {
  std::string name;
  int64_t ranks = 0;
  int64_t units = 0;
  int64_t required_ranks = 1;  // consecutive ranks that must share a unit
};

// The node of each rank: rank = tensor + T (context + C (data + D pipeline)) (Megatron's order
// tp-cp-dp-pp), and node = rank / gpus_per_node.
struct Placement {
  int64_t gpus_per_node = 0;
  int64_t nodes = 0;
  bool pipeline_neighbours_cross_nodes = false;
  int64_t host_memory_bytes = 0;  // memory of a pod with the ranks of one node
  int64_t shared_memory_bytes = 0;
  std::vector<PlacementTier> tiers;  // beyond the node, innermost first
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_PLACEMENT_H_
