#include "client/cli/from/run/gpus_of.h"

#include <fmt/format.h>

#include <absl/strings/numbers.h>
#include <algorithm>
#include <string>

#include "client/cli/base/command_error.h"
#include "planner/space/parallelism.h"

namespace evenkeel::cli {
namespace {

[[noreturn]] void FailGpus(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, message);
}

// Returns the number of GPUs that axolotl shards states over, which are all; 0 if nothing says so.
int64_t ShardRanks(const UserConfig& config, int64_t gpus) {
  const int64_t ranks = config.Int(Field::kShardRanks, 0, 1, planner::kGpusAtMost);
  if (ranks > 0 && gpus > 0 && ranks != gpus)
    config.Refuse(Field::kShardRanks,
                  fmt::format("must be the {} GPUs of --gpus, as the other degrees are 1", gpus));
  return ranks;
}

// Returns the pool that the run has, whose GPUs are known.
v1::GpuPool* OnlyPoolOf(v1::Job* job) {
  if (job->cluster().pools_size() > 1 ||
      (job->cluster().pools_size() == 1 && job->cluster().pools(0).gpu_counts_size() > 0))
    FailGpus("--from evaluates one offer: give one --gpus, and no --pool");
  const bool there = job->cluster().pools_size() == 1;
  if (!there || (job->cluster().pools(0).gpu_type().empty() && !job->cluster().pools(0).has_gpu()))
    FailGpus(
        "the configuration does not say which GPUs it is for: name them by --gpu, such as --gpu "
        "h100-sxm-80gb (see `gpus`)");
  return job->mutable_cluster()->mutable_pools(0);
}

struct Nodes {
  int64_t count = 1;
  bool open = false;  // a launcher fills in the number ("$SLURM_NNODES"), or takes a range ("1:4")
  // GPUs. 0: nothing says how many, or it is left to the node ("gpu", "auto").
  int64_t per_node = 0;
  bool both = false;  // settings say something of both numbers
};

// Sets the GPUs of a node, where there are several nodes and no flag says it.
Nodes NodesOf(const UserConfig& config, v1::GpuPool* pool) {
  Nodes nodes;
  nodes.both = config.Has(Field::kGpusPerNode) && config.Has(Field::kNodes);
  nodes.open =
      config.Has(Field::kNodes) && !absl::SimpleAtoi(config.Text(Field::kNodes), &nodes.count);
  if (nodes.open && pool->gpu_count() == 0)
    config.Refuse(Field::kNodes, "this is no number of nodes: give the GPUs of all by --gpus N");
  if (config.Has(Field::kNodes) && !nodes.open)
    nodes.count = config.Int(Field::kNodes, 1, 1, planner::kGpusAtMost);
  int64_t per_node = 0;
  if (config.Has(Field::kGpusPerNode) &&
      absl::SimpleAtoi(config.Text(Field::kGpusPerNode, "0"), &per_node) && per_node > 0) {
    nodes.per_node = config.Int(Field::kGpusPerNode, 8, 1, 1024);
    const bool several = nodes.open ? pool->gpu_count() > nodes.per_node : nodes.count > 1;
    if (pool->gpus_per_node() == 0 && several)
      pool->set_gpus_per_node(static_cast<int32_t>(nodes.per_node));
  }
  return nodes;
}

// Sets the GPUs of a launcher that names all processes.
void SetProcesses(const UserConfig& config, int64_t nodes, v1::GpuPool* pool) {
  if (config.Text(Field::kProcesses).find('$') != std::string::npos)
    config.Refuse(Field::kProcesses, "this is no number of processes: give it by --gpus N");
  const int64_t processes = config.Int(Field::kProcesses, 1, 1, planner::kGpusAtMost);
  pool->set_gpu_count(static_cast<int32_t>(processes));
  if (processes % nodes != 0)
    config.Refuse(Field::kProcesses, fmt::format("must be a multiple of the {} nodes", nodes));
  if (nodes > 1 && pool->gpus_per_node() == 0)
    pool->set_gpus_per_node(static_cast<int32_t>(processes / nodes));
}

// Returns the GPUs that all degrees take together.
int64_t GpusOfDegrees(const UserConfig& config) {
  int64_t all = 1;
  for (const Field field :
       {Field::kData, Field::kDataReplicas, Field::kTensor, Field::kPipeline, Field::kContext})
    all = std::min(all * config.Int(field, 1, 1, planner::kGpusAtMost), planner::kGpusAtMost + 1);
  if (all > planner::kGpusAtMost)
    FailGpus(fmt::format("the degrees are more than {} GPUs", planner::kGpusAtMost));
  return all;
}

// Returns the GPUs of a configuration that names neither processes nor ranks to shard over.
int64_t GpusOf(const UserConfig& config, const Nodes& nodes) {
  const bool of_degrees = RecordOf(config.format).degrees_are_gpus;
  if (nodes.per_node > 0 && (nodes.both || !of_degrees)) {
    if (nodes.count * nodes.per_node > planner::kGpusAtMost)
      FailGpus(fmt::format("{} nodes of {} GPUs are more than {} GPUs", nodes.count, nodes.per_node,
                           planner::kGpusAtMost));
    return nodes.count * nodes.per_node;
  }
  if (of_degrees && config.Int(Field::kData, -1, -1, planner::kGpusAtMost) > 0)
    return GpusOfDegrees(config);
  FailGpus("the configuration does not say how many GPUs there are: give --gpus N");
}

}  // namespace

void SetGpus(const UserConfig& config, UserRun* run) {
  v1::GpuPool* pool = OnlyPoolOf(&run->job);
  const Nodes nodes = NodesOf(config, pool);
  const int64_t ranks = ShardRanks(config, pool->gpu_count());
  if (pool->gpu_count() > 0) {
    if (nodes.both && !nodes.open && nodes.per_node > 0 &&
        nodes.count * nodes.per_node != pool->gpu_count())
      run->assumed.push_back(fmt::format("{} GPUs (--gpus), not the {} of the configuration",
                                         pool->gpu_count(), nodes.count * nodes.per_node));
    return;
  }
  if (config.Has(Field::kProcesses)) return SetProcesses(config, nodes.count, pool);
  pool->set_gpu_count(static_cast<int32_t>(ranks > 0 ? ranks : GpusOf(config, nodes)));
}

}  // namespace evenkeel::cli
