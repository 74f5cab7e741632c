#include "planner/cost/weight_gather.h"

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

SharedWeights WeightsOf(const Execution& e, const LayerWork& work, double parameters,
                        double trained, double packed) {
  const double held = HeldWeightBytes(e);
  return {.parameters = parameters,
          .trained = trained,
          .bytes = held * parameters - (held - BytesOf(work.packed_format)) * packed};
}

SharedWeights DenseWeights(const Execution& e, const LayerWork& work) {
  return WeightsOf(e, work, work.parameters - work.expert_parameters,
                   work.trained_parameters - work.trained_expert_parameters,
                   work.packed_parameters - work.packed_expert_parameters);
}

SharedWeights ExpertWeights(const Execution& e, const LayerWork& work) {
  return WeightsOf(e, work, work.expert_parameters, work.trained_expert_parameters,
                   work.packed_expert_parameters);
}

}  // namespace

SharedWeights GatheredWeights(const Training& training, const Parallelism& p,
                              const LayerWork& work) {
  SharedWeights gathered = DenseWeights(training.execution, work);
  if (ExpertCopies(training, p) == 1) return gathered;
  const SharedWeights experts = ExpertWeights(training.execution, work);
  gathered.parameters += experts.parameters;
  gathered.trained += experts.trained;
  gathered.bytes += experts.bytes;
  return gathered;
}

GatherTimes GatherTimesOf(const Job& job, const KernelTime& kernels, const Network& network,
                          const Parallelism& p, const LayerWork& work) {
  const Execution& e = job.training.execution;
  const double ns_per_byte = kernels.MemoryBound(1).per_row;
  const double reduced_bytes = (e.reduces_fp32 ? 2 : 1) * kValueBytes;
  GatherTimes times;
  const auto add = [&](const SharedWeights& weights, const RankGroup& all) {
    if (weights.parameters == 0) return;
    const int64_t shards = ShardRanks(job.training, all.ranks);
    const auto [inside, across] = SplitBy(all, shards);
    const double reduced = reduced_bytes * weights.trained;
    times.gather += network.GroupCollective(Collective::kAllGather, inside, weights.bytes);
    times.reduce += network.GroupCollective(Collective::kReduceScatter, inside, reduced) +
                    network.GroupCollective(Collective::kAllReduce, across, reduced / D(shards));
    times.host_to_device_ns += HostToDeviceTime(job, weights.parameters / D(shards));
    if (weights.trained > 0)
      times.device_to_host_ns += DeviceToHostTime(job, weights.trained / D(shards));
    if (all.ranks == 1) return;
    times.gather_traffic += ns_per_byte * e.gather_traffic_bytes / kValueBytes * weights.bytes;
    times.reduce_traffic += ns_per_byte * e.reduce_traffic_bytes * weights.trained;
  };
  add(DenseWeights(e, work), network.DataGroup(p));
  add(ExpertWeights(e, work), network.ExpertDataGroup(p, e.expert_tensor));
  // FSDP1 lets the host run ahead of the device by two gathers only (limit_all_gathers), so that
  // its time for the gathers of adapters is not hidden.
  if (network.DataGroup(p).ranks > 1)
    times.adapters = D(work.adapter_matrices) * e.adapter_gather_ns;
  return times;
}

}  // namespace evenkeel::planner
