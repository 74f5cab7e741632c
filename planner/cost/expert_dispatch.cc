#include "planner/cost/expert_dispatch.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/hardware/generations.h"
#include "planner/space/dispatcher_reach.h"

namespace evenkeel::planner {
namespace {

bool SpansNodes(const RankGroup& group) { return group.ranks > group.ranks_per_node; }

// Rows go once to each other node that holds some of their experts, and there over the scale-up
// link to each rank that does. Both overlap.
double LibraryTime(const DispatcherRecord& record, const Network& network,
                   const RoutedRows& routed) {
  const Cluster& cluster = network.cluster();
  const RankGroup& group = routed.group;
  const bool spans = SpansNodes(group);
  const double bytes = routed.rows * routed.row_bytes;
  const double received = bytes * PartsReached(group.ranks, routed.top_k);
  const double link = cluster.intra_node_bytes_per_second * record.link_efficiency * 1e-9;
  const double own = 1 / D(group.ranks);
  const double inside =
      std::max(received * (1 - own) / link,
               received / (spans ? record.forwarded_bytes_per_ns : record.bytes_per_ns_per_rank));
  if (!spans) return record.startup_ns + inside;
  const int64_t nodes = CeilDivide(group.ranks, group.ranks_per_node);
  const NetworkRates& rates = RatesBetweenNodes(record, cluster.fabric);
  const double sent_rows =
      routed.rows * PartsReached(nodes, routed.top_k) * D(nodes - 1) / D(nodes);  // to other nodes
  const double outside =
      std::max(network.BetweenNodesTime(group, sent_rows * routed.row_bytes, rates.efficiency),
               sent_rows * rates.row_ns);
  return rates.startup_ns + rates.per_node_ns * D(nodes - 1) + std::max(inside, outside);
}

}  // namespace

double PartsReached(int64_t n, int64_t k) {
  double missed = 1;
  for (int64_t i = 0; i < k; ++i) missed *= 1 - 1 / D(n);
  return D(n) * (1 - missed);
}

double DispatchTime(Dispatcher dispatcher, const Network& network, const RoutedRows& routed) {
  const double bytes = routed.rows * routed.row_bytes;
  if (routed.group.ranks <= 1 || bytes <= 0) return 0;
  if (dispatcher == Dispatcher::kAllToAll)
    return network.GroupCollective(Collective::kAllToAll, routed.group, D(routed.top_k) * bytes);
  if (dispatcher == Dispatcher::kAllGather) {
    const double all = bytes * D(routed.group.ranks);
    return (network.GroupCollective(Collective::kAllGather, routed.group, all) +
            network.GroupCollective(Collective::kReduceScatter, routed.group, all)) /
           2;
  }
  return LibraryTime(RecordOf(dispatcher), network, routed);
}

// An all-to-all orders rows by rank before it, and by expert behind it. A library's kernels take
// rows as they are, and those that came are ordered by expert (section 5.2 of
// docs/deepep_vs_hybridep_benchmark.md of NVIDIA-NeMo/Automodel). An all-gather reads what it
// needs.
double PermutedValues(Dispatcher dispatcher, const RoutedRows& routed) {
  const bool twice = dispatcher == Dispatcher::kAllToAll || routed.group.ranks == 1;
  return (twice ? 4 : 2) * D(routed.top_k);
}

double GatheredRows(Dispatcher dispatcher, int64_t ranks) {
  return dispatcher == Dispatcher::kAllGather && ranks > 1 ? D(ranks) : 0;
}

bool RunsDispatcher(Dispatcher dispatcher, const Cluster& cluster, const RankGroup& group) {
  if (!UnfitFor(dispatcher, cluster.gpu).empty()) return false;
  const DispatcherRecord& record = RecordOf(dispatcher);
  return record.nccl || !SpansNodes(group) ||
         RatesBetweenNodes(record, cluster.fabric).efficiency > 0;
}

std::string_view UnfitFor(Dispatcher dispatcher, const GpuSpec& gpu) {
  if (dispatcher == Dispatcher::kLeastTime || RecordOf(dispatcher).nccl) return "";
  if (!RecordOf(gpu.costs.generation).expert_kernels)
    return "its kernels are for Ampere, Hopper and Blackwell GPUs";
  if (gpu.scaleup_bytes_per_second <= 0 || gpu.scaleup_pairs_only)
    return "its kernels need NVLink between all GPUs of a node";
  return "";
}

DispatcherSet DispatchersOf(const Job& job) {
  const Execution& execution = job.training.execution;
  if (execution.dispatcher != Dispatcher::kLeastTime) return DispatcherBit(execution.dispatcher);
  // Gathered rows take memory, so the quickest exchange could be one with which nothing fits.
  DispatcherSet among = job.training.trainer->dispatchers & ~DispatcherBit(Dispatcher::kAllGather);
  if (execution.overlap_shared_expert) among &= DispatcherBit(Dispatcher::kAllToAll);
  return among;
}

Dispatcher QuickestDispatcher(DispatcherSet among, const Network& network,
                              const KernelTime& kernels, const RoutedRows& routed) {
  Dispatcher quickest = Dispatcher::kAllToAll;
  int64_t least = -1;
  for (const DispatcherRecord& record : Dispatchers()) {
    if ((among & DispatcherBit(record.dispatcher)) == 0 ||
        !RunsDispatcher(record.dispatcher, network.cluster(), routed.group))
      continue;
    const double permuted =
        routed.row_bytes * PermutedValues(record.dispatcher, routed) * routed.rows;
    const int64_t ns = Nearest(DispatchTime(record.dispatcher, network, routed) +
                               kernels.MemoryBound(permuted).per_row);
    if (least >= 0 && ns >= least) continue;
    least = ns;
    quickest = record.dispatcher;
  }
  return quickest;
}

Dispatcher PlannedDispatcher(const Job& job, const Parallelism& p, const PackShape& mean) {
  const DispatcherSet among = DispatchersOf(job);
  for (const DispatcherRecord& record : Dispatchers())
    if (among == DispatcherBit(record.dispatcher)) return record.dispatcher;
  const LanguageModel& m = job.model.language_model;
  const Network network(job.cluster, job.constants);
  const KernelTime kernels(job.cluster.gpu, job.constants);
  const int64_t width = m.moe->latent > 0 ? m.moe->latent : m.hidden;
  return QuickestDispatcher(
      among, network, kernels,
      {.rows = mean.tokens / D(p.context * p.tensor),
       .row_bytes = kValueBytes * D(width),
       .top_k = m.moe->top_k,
       .group = network.ExpertGroup(p, job.training.execution.expert_tensor)});
}

}  // namespace evenkeel::planner
