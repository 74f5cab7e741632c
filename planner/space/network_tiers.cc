#include "planner/space/network_tiers.h"

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// Returns the most GPUs, up to `most`, that a unit can have if all units are alike and consist of
// whole parts. Returns `part` if parts do not divide `gpus`.
int64_t EqualUnits(int64_t gpus, int64_t part, int64_t most) {
  if (gpus % part != 0 || most < 2 * part) return part;
  return part * LargestDivisor(gpus / part, most / part);
}

}  // namespace

NetworkUnit DomainOf(const GpuSpec& gpu, int64_t gpus_per_node) {
  const int64_t gpus = gpu.scaleup_domain_gpus;
  if (gpus < 2 * gpus_per_node) return {};
  return {kDomainName, gpus, gpus / gpus_per_node * gpus_per_node};
}

int64_t DomainGpus(const Cluster& cluster) {
  return EqualUnits(cluster.gpu_count, cluster.gpus_per_node, cluster.domain.usable);
}

int64_t PodGpus(const Cluster& cluster) {
  if (cluster.pod.gpus == 0) return cluster.gpu_count;
  return EqualUnits(cluster.gpu_count, DomainGpus(cluster), cluster.pod.usable);
}

int64_t GpusOfWholeUnits(const Cluster& cluster, int64_t gpus) {
  // A pod consists of whole domains, so a job that fills pods fills domains too.
  for (const NetworkUnit* unit : {&cluster.domain, &cluster.pod}) {
    if (unit->filled && gpus > unit->usable) gpus = RoundUp(gpus, unit->usable);
  }
  return gpus;
}

int64_t GpusInWholeUnits(const Cluster& cluster, int64_t gpus) {
  // A part of a pod must consist of whole domains, too.
  for (const NetworkUnit* unit : {&cluster.pod, &cluster.domain}) {
    if (unit->filled && gpus > unit->usable) gpus -= gpus % unit->usable;
  }
  return gpus;
}

}  // namespace evenkeel::planner
