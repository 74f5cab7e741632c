#include "planner/space/placement_tiers.h"

#include <numeric>

#include "planner/base/integers.h"
#include "planner/space/dispatcher_reach.h"
#include "planner/space/network_tiers.h"

namespace evenkeel::planner {
namespace {

// Returns how many consecutive ranks must share a scale-up domain.
int64_t BoundToDomain(const Job& job, const Parallelism& p) {
  const int64_t experts = p.expert * job.training.execution.expert_tensor;
  const bool bound = p.expert > 1 && !DispatcherLeavesDomain(job);
  return bound ? std::lcm(p.tensor, experts) : p.tensor;
}

}  // namespace

std::vector<PlacementTier> TiersOf(const Job& job, const Parallelism& p) {
  const Cluster& cluster = job.cluster;
  std::vector<PlacementTier> tiers;
  const auto add = [&](const NetworkUnit& unit, int64_t ranks, int64_t required) {
    tiers.push_back({.name = unit.name,
                     .ranks = ranks,
                     .units = CeilDivide(cluster.gpu_count, ranks),
                     .required_ranks = required});
  };
  if (cluster.domain.gpus > 0) add(cluster.domain, DomainGpus(cluster), BoundToDomain(job, p));
  if (cluster.pod.gpus > 0) add(cluster.pod, PodGpus(cluster), 1);
  return tiers;
}

}  // namespace evenkeel::planner
