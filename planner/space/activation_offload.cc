#include "planner/space/activation_offload.h"

namespace evenkeel::planner {

void AskActivationOffload(std::optional<int64_t> layers, Job* job) {
  job->constraints = FreeConstraints(*job);
  const Constraints c = job->constraints;
  job->training.activations = {.asked = true,
                               .choose = !layers,
                               .free_recompute = c.recompute,
                               .free_pipeline = c.pipeline_parallel,
                               .free_virtual_stages = c.virtual_stages};
  job->training.offload.asked = true;
  if (layers) *job = WithActivations(*job, *layers, *layers);
}

Job WithActivations(const Job& job, int64_t layers, int64_t charged) {
  Job with = job;
  ActivationOffload& activations = with.training.activations;
  with.constraints = FreeConstraints(job);
  activations.choose = false;
  activations.layers = layers, activations.charged_layers = charged;
  if (layers == 0) return with;
  Constraints& c = with.constraints;
  c.recompute = *RecomputeBesideOffload(*job.training.trainer, c.recompute);
  c.virtual_stages = {1, 1};
  if (!job.training.trainer->activations.pipeline) c.pipeline_parallel = {1, 1};
  return with;
}

std::optional<RecomputePolicy> RecomputeBesideOffload(const Trainer& trainer,
                                                      RecomputePolicy policy) {
  const ActivationAbility& able = trainer.activations;
  const bool free = policy == RecomputePolicy::kAuto || policy == RecomputePolicy::kOneSetting ||
                    policy == RecomputePolicy::kWholeLayers;
  if (able.kept && (free || policy == RecomputePolicy::kForbidden))
    return RecomputePolicy::kForbidden;
  if (able.inputs && (free || policy == RecomputePolicy::kFull)) return RecomputePolicy::kFull;
  return std::nullopt;
}

bool AdmitsActivationOffload(const Job& job) {
  const Constraints c = FreeConstraints(job);
  const Trainer& trainer = *job.training.trainer;
  const bool one_stage = c.pipeline_parallel.min <= 1 && c.stage_layers.size() <= 1;
  const bool one_chunk = c.virtual_stages.min <= 1 && c.schedule != Schedule::kInterleaved;
  return RecomputeBesideOffload(trainer, c.recompute) && one_chunk &&
         (one_stage || trainer.activations.pipeline) &&
         (!job.model.language_model.moe || trainer.activations.experts);
}

int64_t OffloadedLayersAtMost(const Job& job) {
  const int64_t layers = job.model.language_model.layers;
  return job.training.trainer->activations.all_layers ? layers : layers - 1;
}

Constraints FreeConstraints(const Job& job) {
  const ActivationOffload& activations = job.training.activations;
  Constraints c = job.constraints;
  if (!activations.asked) return c;
  c.recompute = activations.free_recompute;
  c.pipeline_parallel = activations.free_pipeline;
  c.virtual_stages = activations.free_virtual_stages;
  return c;
}

}  // namespace evenkeel::planner
