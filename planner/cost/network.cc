#include "planner/cost/network.h"

#include <algorithm>
#include <numeric>

#include "planner/base/integers.h"
#include "planner/hardware/measured_collectives.h"
#include "planner/space/degrees.h"
#include "planner/space/network_tiers.h"
#include "planner/space/tensor_parallel.h"

namespace evenkeel::planner {

Network::Network(const Cluster& cluster, const CostConstants& constants)
    : cluster_(cluster),
      constants_(constants),
      domain_(DomainGpus(cluster)),
      pod_(PodGpus(cluster)) {}

RankGroup Network::Group(int64_t ranks, int64_t stride) const {
  // Groups are blocks of consecutive ranks. One that does not divide a unit crosses the border of
  // two.
  const auto sharing = [&](int64_t unit) {
    return std::clamp<int64_t>(std::gcd(ranks * stride, unit) / stride, 1, ranks);
  };
  RankGroup group{ranks, domain_ >= cluster_.gpu_count ? ranks : sharing(domain_)};
  if (pod_ < cluster_.gpu_count) group.ranks_per_pod = sharing(pod_) % ranks;
  return group;
}

RankGroup Network::ContextGroup(const Parallelism& p) const { return Group(p.context, p.tensor); }

SplitGroups SplitBy(const RankGroup& group, int64_t ranks) {
  SplitGroups split{
      .inside = {ranks, std::min(ranks, group.ranks_per_node)},
      .across = {group.ranks / ranks, std::max<int64_t>(1, group.ranks_per_node / ranks)}};
  if (group.ranks_per_pod > 0) {
    split.inside.ranks_per_pod = std::min(ranks, group.ranks_per_pod) % ranks;
    split.across.ranks_per_pod =
        std::max<int64_t>(1, group.ranks_per_pod / ranks) % split.across.ranks;
  }
  return split;
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

double Network::NodeModel(Collective op, int64_t ranks, double bytes) const {
  if (ranks <= 1 || bytes <= 0) return 0;
  return cluster_.gpu.costs.collectives->Time(op, ranks, bytes,
                                              cluster_.intra_node_bytes_per_second);
}

double Network::NodeCollective(Collective op, int64_t ranks, double bytes) const {
  return GroupCollective(op, {ranks, ranks}, bytes);
}

double Network::GroupCollective(Collective op, const RankGroup& group, double bytes) const {
  if (group.ranks <= 1 || bytes <= 0) return 0;
  return MeasuredRatio(op, group, bytes) * GroupModel(op, group, bytes);
}

double Network::GroupModel(Collective op, const RankGroup& group, double bytes) const {
  if (op == Collective::kSendReceive)
    return SendModel(group.ranks_per_node < group.ranks, bytes,
                     BetweenNodes(1, constants_.inter_node_efficiency));
  if (group.ranks_per_node >= group.ranks) return NodeModel(op, group.ranks, bytes);
  return op == Collective::kAllToAll ? Exchange(group, bytes) : Ring(op, group, bytes);
}

double Network::MeasuredRatio(Collective op, const RankGroup& group, double bytes) const {
  // Measured curves do not record pods, so groups that span pods are not corrected.
  if (cluster_.collectives == nullptr || group.ranks_per_pod > 0) return 1;
  const NearCurves near = CurvesFor(*cluster_.collectives, op, group.ranks, group.ranks_per_node);
  if (near.below == nullptr) return 1;
  const auto ratio = [&](const CollectiveCurve& curve) {
    const double at = std::clamp(bytes, curve.points.front().bytes, curve.points.back().bytes);
    return curve.At(at) / GroupModel(op, {curve.ranks, curve.ranks_per_node}, at);
  };
  const double below = ratio(*near.below);
  return near.above == nullptr ? below : below + near.above_share * (ratio(*near.above) - below);
}

double Network::BetweenNodesTime(const RankGroup& group, double bytes, double efficiency) const {
  const double time =
      bytes * D(group.ranks_per_node) / BetweenNodes(group.ranks_per_node, efficiency);
  if (group.ranks_per_pod == 0) return time;
  const double outside =
      D(group.ranks - group.ranks_per_pod) / D(group.ranks - group.ranks_per_node);
  return std::max(time, bytes * outside / BetweenPods(pod_, efficiency));
}

double Network::BetweenNodes(int64_t ranks, double efficiency) const {
  return cluster_.inter_node_bytes_per_second * efficiency *
         (1 + constants_.inter_node_sharing * D(ranks - 1)) * 1e-9;
}

// Ranks that send nothing leave their part to the others, up to what a rank has between nodes.
double Network::BetweenPods(int64_t sending, double efficiency) const {
  const double rate = cluster_.inter_pod_bytes_per_second * D(pod_) / D(std::min(sending, pod_));
  return std::min(rate, cluster_.inter_node_bytes_per_second) * efficiency * 1e-9;
}

// The group's ranks in one node share the traffic between nodes: each drives its own part of the
// network. The slower of the two networks holds up the ring.
double Network::Ring(Collective op, const RankGroup& group, double bytes) const {
  const double passes = op == Collective::kAllReduce ? 2 : 1;
  const int64_t nodes = CeilDivide(group.ranks, group.ranks_per_node);
  double transfer = bytes * D(group.ranks - 1) / D(group.ranks) /
                    BetweenNodes(group.ranks_per_node, constants_.inter_node_efficiency) * passes;
  // All groups of the pod cross its border at the same time: each has its ranks' part of it.
  if (group.ranks_per_pod > 0)
    transfer = std::max(transfer, passes * bytes * D(group.ranks - 1) / D(group.ranks) /
                                      (D(group.ranks_per_pod) *
                                       BetweenPods(pod_, constants_.inter_node_efficiency)));
  if (group.ranks_per_node > 1)
    transfer = std::max(transfer, NodeModel(op, group.ranks_per_node, bytes));
  return transfer + passes * (constants_.node_hop_ns * D(nodes - 1) +
                              constants_.rank_hop_ns * D(group.ranks - nodes));
}

// The traffic of a rank to other nodes overlaps with the exchange inside its node.
double Network::Exchange(const RankGroup& group, double bytes) const {
  const double inside = D(group.ranks_per_node) / D(group.ranks);
  const double outside =
      BetweenNodesTime(group, bytes * (1 - inside), constants_.inter_node_efficiency);
  return constants_.send_latency_ns +
         std::max(outside, NodeModel(Collective::kAllToAll, group.ranks_per_node, bytes * inside));
}

bool Network::StageLinkCrossesNodes(const Parallelism& p, int64_t s) const {
  return StageLinkCrosses(p, s, cluster_.gpus_per_node);
}

bool Network::StageLinkCrosses(const Parallelism& p, int64_t s, int64_t unit) const {
  const int64_t ranks = p.tensor * p.context * p.data;
  if (s + 1 == p.pipeline) return ranks * p.pipeline > unit;
  const int64_t last_of_stage = (s + 1) * ranks - 1;
  // Peers differ by `ranks`. They are in different units if that is a whole unit or more, or if the
  // two stages do not share one.
  return ranks >= unit || (s * ranks) / unit != (last_of_stage + ranks) / unit;
}

double Network::SendModel(bool crosses, double bytes, double rate) const {
  // In an all-to-all of two ranks, each rank keeps half of its buffer and sends the other half.
  return crosses ? constants_.send_latency_ns + bytes / rate
                 : NodeModel(Collective::kAllToAll, 2, 2 * bytes);
}

int64_t Network::StageSend(const Parallelism& p, int64_t s, int64_t bytes) const {
  const bool crosses = StageLinkCrosses(p, s, domain_);
  const double efficiency = constants_.inter_node_efficiency;
  double rate = BetweenNodes(1, efficiency);
  if (crosses && pod_ < cluster_.gpu_count && StageLinkCrosses(p, s, pod_)) {
    rate = std::min(rate, BetweenPods(p.tensor * p.context * p.data, efficiency));
    return Nearest(SendModel(crosses, D(bytes), rate));
  }
  const RankGroup pair{2, crosses ? 1 : 2};
  return Nearest(MeasuredRatio(Collective::kSendReceive, pair, D(bytes)) *
                 SendModel(crosses, D(bytes), rate));
}

int64_t HeadRanksOf(const Job& job, const Parallelism& p, const Network& network) {
  ContextRules rules = ContextRulesOf(job, p.tensor);
  rules.ranks_per_node = network.ContextGroup(p).ranks_per_node;
  return HeadRanks(job.model, p.tensor, p.context, rules);
}

}  // namespace evenkeel::planner
