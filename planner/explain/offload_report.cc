#include "planner/explain/offload_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "planner/candidates/parallelisms.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/layer_profile.h"
#include "planner/simulate/step_simulation.h"
#include "planner/space/offload.h"

namespace evenkeel::planner {
namespace {

// Adds the figures of activations. The cost of copies is the step's time over that of a step whose
// copies are free.
void AddActivations(const Job& job, const Batching& batching, const Candidate& c,
                    const std::vector<StagePlan>& stages, OffloadPlan* plan) {
  const ActivationOffload& activations = job.training.activations;
  plan->activations_asked = activations.asked;
  plan->activation_layers = activations.layers;
  plan->of_modules = activations.of_modules;
  plan->modules = activations.modules;
  if (!activations.any()) return;
  for (const StagePlan& stage : stages)
    plan->activation_bytes = std::max(plan->activation_bytes, stage.offloaded_activation_bytes);
  plan->activation_host_bytes = job.cluster.gpus_per_node * plan->activation_bytes;
  const Job free = activations.modules != 0
                       ? WithModules(job, activations.modules, 0, activations.beside)
                       : WithActivations(job, activations.layers, 0);
  const LayerProfile profile =
      BuildLayerProfile(free, c.parallelism, batching.mean, batching.largest, {}, c.micro_batches);
  const std::vector<SegmentWork> works =
      WorkOfSegments(free, profile, c.parallelism, c.boundaries, c.recomputed);
  const auto pipeline_ns = [&](const std::vector<SegmentWork>& segments) {
    return MeanPackStep(job, c.parallelism, c.shape(), segments).pipeline_ns;
  };
  plan->activation_added_ns = std::max<int64_t>(0, pipeline_ns(c.segments) - pipeline_ns(works));
}

}  // namespace

std::optional<OffloadPlan> ReportOffload(const Job& job, const Batching& batching,
                                         const Candidate& c, const std::vector<StagePlan>& stages) {
  if (!job.training.offload.asked) return std::nullopt;
  const bool weights = job.training.offload.weights;
  OffloadPlan plan{.ratio = job.training.offload.ratio,
                   .weights = weights,
                   .host_capacity_bytes = HostOf(job.cluster).memory_bytes};
  const int64_t per_node = job.cluster.gpus_per_node;
  const Job without = WithOffload(job, 0);
  const LayerProfile none = BuildLayerProfile(without, c.parallelism, batching.mean,
                                              batching.largest, {}, c.micro_batches);
  for (size_t s = 0; s < stages.size(); ++s) {
    const MemoryParts& left = stages[s].memory;
    int64_t gone = -left.optimizer - (weights ? left.weights + left.gradients : 0);
    for (size_t k = s; k < c.segments.size(); k += stages.size()) {
      for (size_t of = 0; of < none.classes.size(); ++of) {
        const LayerCost& layer = none.classes[of];
        gone += c.segments[k].counts[of] * (weights ? layer.static_bytes() : layer.optimizer_bytes);
      }
    }
    plan.gpu_bytes = std::max(plan.gpu_bytes, gone);
    plan.host_bytes = std::max(plan.host_bytes, per_node * stages[s].offloaded_bytes);
  }
  const auto mean_step = [&](const Job& of, const std::vector<SegmentWork>& works) {
    return MeanPackStep(of, c.parallelism, c.shape(), works);
  };
  plan.added_ns = weights ? mean_step(job, c.segments).total_ns() -
                                mean_step(without, WorkOfSegments(without, none, c.parallelism,
                                                                  c.boundaries, c.recomputed))
                                    .total_ns()
                          : c.step.optimizer_ns - mean_step(without, c.segments).optimizer_ns;
  plan.added_ns = std::max<int64_t>(0, plan.added_ns);
  AddActivations(job, batching, c, stages, &plan);
  plan.step_ns =
      ScaleToBatch(c.step.total_ns(), batching.packs_per_step(job.training.global_batch_samples),
                   c.micro_batches, c.parallelism.data);
  return plan;
}

}  // namespace evenkeel::planner
