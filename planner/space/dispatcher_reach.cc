#include "planner/space/dispatcher_reach.h"

namespace evenkeel::planner {

const NetworkRates& RatesBetweenNodes(const DispatcherRecord& record, Fabric fabric) {
  return fabric == Fabric::kEfa ? record.efa : record.rdma;
}

bool DispatcherReaches(const Job& job, int64_t expert) {
  const Execution& execution = job.training.execution;
  if (execution.dispatcher == Dispatcher::kLeastTime) return true;
  const DispatcherRecord& record = RecordOf(execution.dispatcher);
  return record.nccl || RatesBetweenNodes(record, job.cluster.fabric).efficiency > 0 ||
         expert * execution.expert_tensor <= job.cluster.gpus_per_node;
}

}  // namespace evenkeel::planner
