#include "planner/cost/network.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// Assumed: no measurement across nodes is at hand beyond the published range of 0.85 to 0.95 for
// large messages.
constexpr double kInterNodeEfficiency = 0.85;
constexpr double kInterNodeLatencyNs = 20e3;  // of a p2p, with its launch
constexpr double kRingHopNs = 5e3;
constexpr double kNodeRankOffset = 0.4;  // q: fitted, two ranks reach less of the link

}  // namespace

Network::Network(const Cluster& cluster) : cluster_(cluster), rates_(RatesOf(cluster.gpu)) {}

double Network::NodeCollective(int64_t ranks, double total_bytes) const {
  if (ranks <= 1 || total_bytes <= 0) return 0;
  const double n = static_cast<double>(ranks);
  const double bytes_per_ns =
      cluster_.intra_node_bytes_per_second * rates_.collective_efficiency * 1e-9;
  const double transfer = total_bytes * (n - 1 + kNodeRankOffset) / n / bytes_per_ns;
  return rates_.collective_latency_ns + rates_.collective_rank_latency_ns * (n - 1) + transfer +
         std::sqrt(rates_.collective_smoothing_ns * transfer);
}

bool Network::StageLinkCrossesNodes(const Parallelism& p, int64_t s) const {
  const int64_t ranks = p.tensor * p.data;
  const int64_t last_of_stage = (s + 1) * ranks - 1;
  // Peers differ by `ranks`: if a whole node or more lies between them, or the two stages do not
  // share one node.
  return ranks >= cluster_.gpus_per_node ||
         (s * ranks) / cluster_.gpus_per_node != (last_of_stage + ranks) / cluster_.gpus_per_node;
}

int64_t Network::StageSend(const Parallelism& p, int64_t s, int64_t bytes) const {
  const bool crosses = StageLinkCrossesNodes(p, s);
  const double rate = crosses ? cluster_.inter_node_bytes_per_second * kInterNodeEfficiency
                              : cluster_.intra_node_bytes_per_second * rates_.collective_efficiency;
  const double latency = crosses ? kInterNodeLatencyNs : rates_.collective_latency_ns;
  return Nearest(latency + static_cast<double>(bytes) / rate * 1e9);
}

double Network::RingPass(const Parallelism& p, double total_bytes) const {
  if (total_bytes <= 0) return 0;
  if (p.tensor * p.data <= cluster_.gpus_per_node) return NodeCollective(p.data, total_bytes);
  // The group's ranks in one node share the traffic between nodes: each drives its own part of the
  // network.
  const double ranks = static_cast<double>(p.data);
  const double per_node =
      static_cast<double>(std::max<int64_t>(1, cluster_.gpus_per_node / p.tensor));
  const double between = cluster_.inter_node_bytes_per_second * kInterNodeEfficiency * per_node;
  const double inside = cluster_.intra_node_bytes_per_second * rates_.collective_efficiency;
  const double rate = per_node > 1 ? std::min(between, inside) : between;
  return kRingHopNs * (ranks - 1) + total_bytes * (ranks - 1) / ranks / rate * 1e9;
}

int64_t Network::DataSync(const Parallelism& p, double gradient_bytes, double weight_bytes,
                          ZeroStage zero) const {
  if (p.data <= 1) return 0;
  // All-reduce is a reduce-scatter and an all-gather of the gradients; a sharded optimizer gathers
  // weights instead.
  const double gathered = zero == ZeroStage::kOptimizer ? weight_bytes : gradient_bytes;
  return Nearest(RingPass(p, gradient_bytes) + RingPass(p, gathered));
}

}  // namespace evenkeel::planner
