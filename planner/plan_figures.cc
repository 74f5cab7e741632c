#include "planner/plan_figures.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cstdint>

#include "planner/base/integers.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/optimizer_time.h"
#include "planner/cost/uncertainty.h"
#include "planner/hardware/gpu_costs.h"
#include "planner/hardware/hosts.h"

namespace evenkeel::planner {
namespace {

// Adds the figures that depend on the place of states and activations, and on the time of updates.
void AddMemoryFigures(const Job& job, std::vector<FigureBasis>* figures) {
  if (job.training.offload.ratio > 0 || job.training.activations.any()) {
    const Host host = HostOf(job.cluster);
    figures->push_back(
        {"offload.host", Basis::kAssumed,
         UsualHost(job.cluster.gpu).source +
             "; used here, as given or assumed: " + std::to_string(host.memory_bytes >> 30) +
             " GiB and " + std::to_string(Nearest(host.memory_bytes_per_second * 1e-9)) +
             " GB/s of a node, " + std::to_string(Nearest(host.link_bytes_per_second * 1e-9)) +
             " GB/s between a GPU and its host"});
  }
  if (job.training.activations.any())
    figures->push_back({"offload.activations", Basis::kAssumed,
                        "copies run during the passes of the layers whose activations they are, at "
                        "the rate of the link or of a GPU's share of the host's memory"});
  if (job.training.offload.ratio > 0) {
    figures->push_back({"offload.update", Basis::kAssumed,
                        absl::StrFormat("Adam on the host at %.0f%% of its memory's rate, as "
                                        "ZeRO-Offload's 10^10 parameters in 2.57 s on a DGX-2",
                                        100 * kHostUpdateShare)});
  }
  if (job.training.fused_step) {
    figures->push_back({"training.fused_step", Basis::kAssumed,
                        absl::StrFormat("updates hide behind nothing, and take %.0f us of the host "
                                        "for each weight, as AdamW of PyTorch 2.15 does",
                                        kFusedUpdateHostNs * 1e-3)});
  }
}

}  // namespace

std::vector<FigureBasis> PlanFigures(const Job& job) {
  std::vector<FigureBasis> figures = job.figures;
  const GpuCosts& costs = job.cluster.gpu.costs;
  figures.push_back({"gpu.kernel_times", costs.basis, costs.source});
  const double clock =
      SustainedClock(job.cluster.gpu, RecipeOf(job.training.precision).products, job.constants);
  figures.push_back({"gpu.sustained_clock",
                     costs.generation == GpuGeneration::kOther || !job.cluster.gpu.power_bound
                         ? Basis::kAssumed
                         : Basis::kFitted,
                     "training runs reach " + std::to_string(Nearest(100 * clock)) +
                         "% of the rates of short isolated kernels"});
  if (RecipeOf(job.training.precision).products == NumberFormat::kMxfp8 &&
      HasProducts(job.cluster.gpu, NumberFormat::kFp8Block))
    figures.push_back({"gpu.mxfp8_products", Basis::kAssumed,
                       "MXFP8 was not measured: block-wise FP8 stands for it"});
  const Uncertainty uncertainty = UncertaintyOf(costs, !job.model.towers.empty());
  figures.push_back({"predictions.step_uncertainty",
                     uncertainty.step_time > 0 ? Basis::kMeasured : Basis::kAssumed,
                     uncertainty.source});
  figures.push_back(
      {"network.between_nodes", Basis::kAssumed,
       absl::StrFormat(
           "%.2f of the given bandwidth, %.0f us latency of a p2p, %.0f us per hop of a "
           "ring%s",
           job.constants.inter_node_efficiency, job.constants.send_latency_ns * 1e-3,
           job.constants.node_hop_ns * 1e-3,
           job.cluster.collectives ? ", scaled to network.collectives" : "")});
  if (const Dispatcher dispatcher = job.training.execution.dispatcher;
      dispatcher == Dispatcher::kLeastTime) {
    figures.push_back({"network.expert_dispatcher", Basis::kFitted,
                       "the quickest of the trainer's, by published rates of their kernels"});
  } else if (!RecordOf(dispatcher).nccl) {
    figures.push_back(
        {"network.expert_dispatcher", Basis::kFitted, std::string(RecordOf(dispatcher).source)});
  }
  const bool overlaps = job.training.execution.overlap_gradient_reduce;
  figures.push_back({"network.data_sync_overlap", Basis::kAssumed,
                     overlaps ? "gradients are reduced during the last backward pass, which slows "
                                "down by the share of processors that it lends"
                              : "none: gradients are reduced after the last backward pass"});
  figures.push_back({"memory.framework", Basis::kAssumed,
                     "1 GiB for context and libraries, 1 GiB for NCCL and p2p buffers"});
  figures.push_back({"memory.allocator_reserve", Basis::kMeasured,
                     "4.3% above allocated: mean of 344 rank samples of B200 runs (SimuMax)"});
  if (job.training.execution.pools_gradients && job.training.execution.frees_gradients)
    figures.push_back({"memory.gradient_pool", Basis::kMeasured,
                       "the allocator keeps gradients' memory for them: 21 peaks of torchtitan"});
  figures.push_back({"placement.host_memory", Basis::kAssumed,
                     "6 GiB per process, its GPU's weights and optimizer once for a checkpoint, 4 "
                     "loader workers per GPU with 2 packs each"});
  AddMemoryFigures(job, &figures);
  figures.push_back({"memory.usable", Basis::kMeasured,
                     "99% of the nominal size: 79.2 of 80 GiB on A100 and H100"});
  if (job.training.micro_batch_samples > 0) {
    figures.push_back({"batch_rule.padding", Basis::kAssumed,
                       std::string("padding costs what real tokens cost, in attention too; ") +
                           (job.training.group_by_length
                                ? "50 times what a rank accumulates is drawn at random, sorted by "
                                  "length and cut again"
                                : "micro-batches are drawn at random from all samples")});
  } else {
    figures.push_back(
        {"batch_rule.packs", Basis::kFitted, "predicted on a stratified sample of the histogram"});
  }
  return figures;
}

std::string BeyondTrainer(const Job& job, const Plan& plan) {
  const Trainer& trainer = *job.training.trainer;
  const std::string title(trainer.title);
  const auto encodes = [](const StagePlan& stage) {
    return std::any_of(stage.layers.begin(), stage.layers.end(),
                       [](const LayerGroup& group) { return group.kind == LayerKind::kEncoder; });
  };
  if (plan.parallelism.virtual_stages > 1 && !trainer.interleaves)
    return title + " has no virtual stages";
  if (plan.parallelism.context > 1 && plan.stages.size() > 1 && !trainer.context_with_pipeline)
    return title + " has no context parallelism in a pipeline";
  if (!trainer.cuts_encoder && plan.stages.size() > 1 &&
      (plan.parallelism.virtual_stages > 1
           ? encodes(plan.stages.front())
           : std::any_of(plan.stages.begin() + 1, plan.stages.end(), encodes)))
    return title + " keeps a whole encoder on the first stage, without virtual stages";
  return "";
}

}  // namespace evenkeel::planner
