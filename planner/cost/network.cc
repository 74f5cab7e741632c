#include "planner/cost/network.h"

#include <algorithm>

#include "planner/base/integers.h"

namespace evenkeel::planner {

Network::Network(const Cluster& cluster, const CostConstants& constants)
    : cluster_(cluster), constants_(constants) {}

RankGroup Network::Group(int64_t ranks, int64_t stride) const {
  return {ranks, std::clamp<int64_t>(cluster_.gpus_per_node / stride, 1, ranks)};
}

RankGroup Network::ContextGroup(const Parallelism& p) const { return Group(p.context, p.tensor); }

SplitGroups SplitBy(const RankGroup& group, int64_t ranks) {
  return {.inside = {ranks, std::min(ranks, group.ranks_per_node)},
          .across = {group.ranks / ranks, std::max<int64_t>(1, group.ranks_per_node / ranks)}};
}

RankGroup Network::DataGroup(const Parallelism& p) const {
  return Group(p.context * p.data, p.tensor);
}

RankGroup Network::EncoderGroup(const Parallelism& p) const {
  return Group(p.encoder_data, EncoderDegrees(p).tensor);
}

RankGroup Network::ExpertGroup(const Parallelism& p, int64_t expert_tensor) const {
  return Group(p.expert, expert_tensor);
}

RankGroup Network::ExpertDataGroup(const Parallelism& p, int64_t expert_tensor) const {
  const int64_t stride = p.expert * expert_tensor;
  return Group(std::max<int64_t>(1, p.tensor * p.context * p.data / stride), stride);
}

double Network::NodeCollective(Collective op, int64_t ranks, double bytes) const {
  if (ranks <= 1 || bytes <= 0) return 0;
  return cluster_.gpu.costs.collectives->Time(op, ranks, bytes,
                                              cluster_.intra_node_bytes_per_second);
}

double Network::NodeCollective(int64_t ranks, double total_bytes) const {
  return (NodeCollective(Collective::kAllGather, ranks, total_bytes) +
          NodeCollective(Collective::kReduceScatter, ranks, total_bytes)) /
         2;
}

double Network::GroupCollective(Collective op, const RankGroup& group, double bytes) const {
  if (group.ranks <= 1 || bytes <= 0) return 0;
  if (group.ranks_per_node >= group.ranks) return NodeCollective(op, group.ranks, bytes);
  return op == Collective::kAllToAll ? Exchange(group, bytes) : Ring(op, group, bytes);
}

double Network::BetweenNodesTime(const RankGroup& group, double bytes, double efficiency) const {
  return bytes * D(group.ranks_per_node) / BetweenNodes(group.ranks_per_node, efficiency);
}

double Network::BetweenNodes(int64_t ranks, double efficiency) const {
  return cluster_.inter_node_bytes_per_second * efficiency *
         (1 + constants_.inter_node_sharing * D(ranks - 1)) * 1e-9;
}

// The group's ranks in one node share the traffic between nodes: each drives its own part of the
// network. The slower of the two networks holds up the ring.
double Network::Ring(Collective op, const RankGroup& group, double bytes) const {
  const double passes = op == Collective::kAllReduce ? 2 : 1;
  const int64_t nodes = CeilDivide(group.ranks, group.ranks_per_node);
  double transfer = bytes * D(group.ranks - 1) / D(group.ranks) /
                    BetweenNodes(group.ranks_per_node, constants_.inter_node_efficiency) * passes;
  if (group.ranks_per_node > 1)
    transfer = std::max(transfer, NodeCollective(op, group.ranks_per_node, bytes));
  return transfer + passes * (constants_.node_hop_ns * D(nodes - 1) +
                              constants_.rank_hop_ns * D(group.ranks - nodes));
}

// The traffic of a rank to other nodes overlaps with the exchange inside its node.
double Network::Exchange(const RankGroup& group, double bytes) const {
  const double inside = D(group.ranks_per_node) / D(group.ranks);
  const double outside =
      BetweenNodesTime(group, bytes * (1 - inside), constants_.inter_node_efficiency);
  return constants_.send_latency_ns +
         std::max(outside,
                  NodeCollective(Collective::kAllToAll, group.ranks_per_node, bytes * inside));
}

bool Network::StageLinkCrossesNodes(const Parallelism& p, int64_t s) const {
  const int64_t ranks = p.tensor * p.context * p.data;
  if (s + 1 == p.pipeline) return ranks * p.pipeline > cluster_.gpus_per_node;
  const int64_t last_of_stage = (s + 1) * ranks - 1;
  // Peers differ by `ranks`. They are on different nodes if that is a whole node or more, or if the
  // two stages do not share one node.
  return ranks >= cluster_.gpus_per_node ||
         (s * ranks) / cluster_.gpus_per_node != (last_of_stage + ranks) / cluster_.gpus_per_node;
}

int64_t Network::StageSend(const Parallelism& p, int64_t s, int64_t bytes) const {
  // In an all-to-all of two ranks, each rank keeps half of its buffer and sends the other half.
  if (!StageLinkCrossesNodes(p, s))
    return Nearest(NodeCollective(Collective::kAllToAll, 2, 2 * D(bytes)));
  return Nearest(constants_.send_latency_ns +
                 D(bytes) / BetweenNodes(1, constants_.inter_node_efficiency));
}

}  // namespace evenkeel::planner
