// Communication times by topology: docs/COST_MODEL.md, section 3. Ranks are laid out tp-cp-dp-pp,
// tensor fastest (Megatron's order), so a tensor group is a block of consecutive ranks, and stage s
// begins at rank s T C D.
#ifndef EVENKEEL_PLANNER_COST_NETWORK_H_
#define EVENKEEL_PLANNER_COST_NETWORK_H_

#include <cstdint>

#include "planner/cost/cost_constants.h"
#include "planner/hardware/collective_table.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Ranks that communicate, and how many of them share a node, or a scale-up domain where that spans
// nodes. If they fill nodes unevenly, the least full one counts.
struct RankGroup {
  int64_t ranks = 1;
  int64_t ranks_per_node = 1;
  int64_t ranks_per_pod = 0;  // 0: all share a pod
  friend bool operator==(const RankGroup&, const RankGroup&) = default;
};

// Two groupings of the same ranks: `inside`, the parts of neighbouring ranks, and `across`, the
// ranks at the same place of every part.
struct SplitGroups {
  RankGroup inside, across;
};
// Splits a group into parts of `ranks` neighbours. REQUIRES: `ranks` divides the group's.
SplitGroups SplitBy(const RankGroup& group, int64_t ranks);

class Network {
 public:
  explicit Network(const Cluster& cluster, const CostConstants& constants = {});

  RankGroup ContextGroup(const Parallelism& p) const;
  // Returns the group that reduces gradients and shards the optimizer: the data and context ranks
  // together.
  RankGroup DataGroup(const Parallelism& p) const;
  // Returns the group that shares the images of a pack.
  RankGroup EncoderGroup(const Parallelism& p) const;
  // Returns the group that shares a layer's experts, each of them split over `expert_tensor`
  // consecutive ranks.
  RankGroup ExpertGroup(const Parallelism& p, int64_t expert_tensor = 1) const;
  // Returns the group that reduces the gradients of one rank's experts.
  RankGroup ExpertDataGroup(const Parallelism& p, int64_t expert_tensor = 1) const;

  // Returns the ns of a collective inside one node; `bytes` counts as in CollectiveTable. This and
  // the functions below use measurements (Cluster::collectives) where there are any.
  double NodeCollective(Collective op, int64_t ranks, double bytes) const;

  // Returns the ns of a collective over a group that may span nodes; `bytes` counts as in
  // CollectiveTable.
  double GroupCollective(Collective op, const RankGroup& group, double bytes) const;

  // Returns the ns in which every rank of a group sends `bytes` to other nodes, evenly, without
  // latency, at `efficiency` of the given bandwidth.
  double BetweenNodesTime(const RankGroup& group, double bytes, double efficiency) const;
  const Cluster& cluster() const { return cluster_; }

  // Returns whether stages s and s + 1 are on different nodes. For the last stage, the next one is
  // the first, to which its chunks send.
  bool StageLinkCrossesNodes(const Parallelism& p, int64_t s) const;
  // Returns StageLinkCrossesNodes for units of this many consecutive ranks in place of nodes.
  bool StageLinkCrosses(const Parallelism& p, int64_t s, int64_t unit) const;

  // Returns the ns of a one-way send of `bytes` from each rank of stage s to its peer on stage s +
  // 1.
  int64_t StageSend(const Parallelism& p, int64_t s, int64_t bytes) const;

 private:
  RankGroup Group(int64_t ranks, int64_t stride) const;
  // NodeModel, GroupModel, SendModel, Ring and Exchange ignore measurements.
  double NodeModel(Collective op, int64_t ranks, double bytes) const;
  double GroupModel(Collective op, const RankGroup& group, double bytes) const;
  double SendModel(bool crosses, double bytes, double rate) const;
  // Returns measured over predicted time of a collective; 1 where nothing like it was measured.
  double MeasuredRatio(Collective op, const RankGroup& group, double bytes) const;
  double Ring(Collective op, const RankGroup& group, double bytes) const;
  double Exchange(const RankGroup& group, double bytes) const;
  // Returns the bytes per ns that `ranks` ranks of one node reach together between nodes.
  double BetweenNodes(int64_t ranks, double efficiency) const;
  // Returns the bytes per ns of each rank between pods, if `sending` of a pod's ranks use it.
  double BetweenPods(int64_t sending, double efficiency) const;

  Cluster cluster_;
  CostConstants constants_;
  int64_t domain_, pod_;  // ranks that share a scale-up domain, and a pod
};

// Returns how many neighbours of the context ranks exchange heads, under the job's ContextKind.
int64_t HeadRanksOf(const Job& job, const Parallelism& p, const Network& network);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_NETWORK_H_
