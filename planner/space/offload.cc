#include "planner/space/offload.h"

#include "planner/model/layer_runs.h"

namespace evenkeel::planner {

Job WithOffload(const Job& job, double ratio) {
  Job with = job;
  with.training.offload.choose = false;
  with.training.offload.ratio = with.training.offload.charged_ratio = ratio;
  with.training.offload.weights = job.training.offload.weights && ratio == 1;
  return with;
}

Job WithoutOffload(const Job& job) { return WithActivations(WithOffload(job, 0), 0, 0); }

void AskActivationOffload(std::optional<int64_t> layers, Job* job) {
  job->constraints = FreeConstraints(*job);
  const Constraints c = job->constraints;
  job->training.activations = {.asked = true,
                               .choose = !layers,
                               .free_recompute = c.recompute,
                               .free_pipeline = c.pipeline_parallel,
                               .free_virtual_stages = c.virtual_stages};
  OptimizerOffload& optimizer = job->training.offload;
  optimizer.asked = true;
  // With activations, the share of the optimizer is given, chosen or 0.
  if (!optimizer.given && !optimizer.weights) optimizer.ratio = optimizer.charged_ratio = 0;
  if (layers) *job = WithActivations(*job, *layers, *layers);
}

void AskModuleOffload(OffloadModules modules, Job* job) {
  AskActivationOffload(0, job);
  ActivationOffload& activations = job->training.activations;
  activations.choose = activations.of_modules = true;
  activations.given_modules = modules;
}

Job WithModules(const Job& job, OffloadModules modules, OffloadModules charged,
                const RecomputeSetting& beside) {
  Job with = WithActivations(job, 0, 0);
  ActivationOffload& activations = with.training.activations;
  if (modules == 0) return with;
  activations.modules = modules, activations.charged_modules = charged;
  activations.beside = beside;
  with.constraints.recompute =
      beside == RecomputeSetting{} ? RecomputePolicy::kForbidden : RecomputePolicy::kFull;
  return with;
}

OffloadModules OffloadModulesOf(const Job& job) {
  const LanguageModel& model = job.model.language_model;
  OffloadModules modules = job.training.trainer->activations.modules;
  if (!model.mla) modules &= ~OffloadModules{kOffloadAttentionNorm};
  if (!model.moe)
    modules &= ~OffloadModules{kOffloadMlpNorm | kOffloadExpertFc1 | kOffloadMoeActivation};
  return modules;
}

OffloadModules ModulesBeside(OffloadModules modules, const RecomputeSetting& setting) {
  const RecomputeParts parts = setting.dense_parts | setting.moe_parts;
  if ((parts & kNorms) != 0) modules &= ~OffloadModules{kOffloadQkv};
  if ((parts & kLatentProjection) != 0)
    modules &= ~OffloadModules{kOffloadQkv | kOffloadCoreAttention};
  if ((parts & kCoreAttention) != 0) modules &= ~OffloadModules{kOffloadCoreAttention};
  if ((parts & kWholeLayer) != 0) modules = 0;
  if ((setting.moe_parts & kMlp) != 0)
    modules &= ~OffloadModules{kOffloadMlpNorm | kOffloadExpertFc1 | kOffloadMoeActivation};
  return WithoutUnmetNeeds(modules);
}

OffloadModules WithoutUnmetNeeds(OffloadModules modules) {
  return (modules & kOffloadCoreAttention) != 0
             ? modules
             : modules & ~OffloadModules{kOffloadAttentionProjection};
}

std::vector<RecomputeSetting> SettingsBesideModules(const Job& job) {
  std::vector<RecomputeSetting> settings = {{}};
  const LanguageModel& model = job.model.language_model;
  const Constraints c = FreeConstraints(job);
  if (c.recompute == RecomputePolicy::kForbidden || !job.training.trainer->selective_recompute)
    return settings;
  const bool dense = CountLayers(model, LayerKind::kDense) > 0;
  const auto add = [&](RecomputeParts parts) {
    RecomputeSetting next = settings.back();
    if (dense) next.dense_parts |= parts & ~RecomputeParts{kActivation};
    if (model.moe) next.moe_parts |= parts;
    if (next != settings.back()) settings.push_back(next);
  };
  if (job.training.execution.grouped_experts && model.moe) add(kActivation);
  add(kNorms);
  if (model.mla) add(kLatentProjection);
  return settings;
}

bool RecomputeBesideModules(RecomputePolicy policy) {
  return policy == RecomputePolicy::kAuto || policy == RecomputePolicy::kOneSetting ||
         policy == RecomputePolicy::kForbidden;
}

bool AdmitsModuleOffload(const Job& job) {
  return OffloadModulesOf(job) != 0 && RecomputeBesideModules(FreeConstraints(job).recompute);
}

Job WithActivations(const Job& job, int64_t layers, int64_t charged) {
  Job with = job;
  ActivationOffload& activations = with.training.activations;
  with.constraints = FreeConstraints(job);
  activations.choose = false;
  activations.modules = activations.charged_modules = 0;
  activations.beside = {};
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
