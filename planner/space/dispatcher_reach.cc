#include "planner/space/dispatcher_reach.h"

#include "planner/space/network_tiers.h"

namespace evenkeel::planner {

const NetworkRates& RatesBetweenNodes(const DispatcherRecord& record, Fabric fabric) {
  return fabric == Fabric::kEfa ? record.efa : record.rdma;
}

bool DispatcherLeavesDomain(const Job& job) {
  const Dispatcher dispatcher = job.training.execution.dispatcher;
  if (dispatcher == Dispatcher::kLeastTime) return true;
  const DispatcherRecord& record = RecordOf(dispatcher);
  return record.nccl || RatesBetweenNodes(record, job.cluster.fabric).efficiency > 0;
}

bool DispatcherReaches(const Job& job, int64_t expert) {
  if (DispatcherLeavesDomain(job)) return true;
  const int64_t ranks = expert * job.training.execution.expert_tensor;
  const int64_t domain = DomainGpus(job.cluster);
  const bool one = domain == job.cluster.gpus_per_node || domain >= job.cluster.gpu_count;
  return ranks <= domain && (one || domain % ranks == 0);
}

}  // namespace evenkeel::planner
