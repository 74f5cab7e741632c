#include "planner/explain/apply_remedy.h"

#include <algorithm>

#include "planner/explain/changed_job.h"
#include "planner/hardware/gpus.h"
#include "planner/space/degrees.h"
#include "planner/space/offload.h"

namespace evenkeel::planner {
namespace {

void FreeDegrees(const Trainer& trainer, Constraints* c) {
  c->tensor_parallel = c->pipeline_parallel = c->data_parallel = {};
  c->virtual_stages.min = c->context_parallel.min = c->expert_parallel.min = 1;
  c->encoder_data.min = 1;
  c->stage_layers.clear();
  c->partition_method = DefaultMethod(trainer, *c);
}

void ChooseOffload(RemedyKind kind, Job* job) {
  if (kind == RemedyKind::kOffloadOptimizer) {
    job->training.offload.asked = job->training.offload.choose = true;
  } else if (kind == RemedyKind::kOffloadWeights) {
    job->training.offload = {.asked = true, .ratio = 1, .charged_ratio = 1, .weights = true};
  } else if (kind == RemedyKind::kOffloadActivations) {
    AskActivationOffload(std::nullopt, job);
  } else {
    AskModuleOffload(0, job);
  }
}

// A remedy changes the request, so the constraints that an offload of activations imposes are
// imposed again.
void HoldOffload(const Job& job, const Remedy& remedy, Job* changed) {
  if (!job.training.activations.asked) return;
  const Constraints& c = changed->constraints;
  changed->training.activations.free_recompute = c.recompute;
  changed->training.activations.free_pipeline = c.pipeline_parallel;
  changed->training.activations.free_virtual_stages = c.virtual_stages;
  const ActivationOffload& activations = job.training.activations;
  if (activations.layers > 0 && remedy.kind != RemedyKind::kOffloadActivations)
    AskActivationOffload(activations.layers, changed);
  if (activations.modules != 0)
    *changed =
        WithModules(*changed, activations.modules, activations.charged_modules, activations.beside);
}

}  // namespace

Job ApplyRemedy(const Job& job, const Remedy& remedy) {
  Job changed = job;
  Constraints& c = changed.constraints;
  c = FreeConstraints(job);
  switch (remedy.kind) {
    case RemedyKind::kMoreGpus:
      ChangeGpuCount(remedy.gpu_count, &changed);
      break;
    case RemedyKind::kSmallerCaps:
      changed.training.token_cap = remedy.token_cap;
      if (remedy.unit_cap > 0) changed.training.unit_cap = remedy.unit_cap;
      break;
    case RemedyKind::kAllowRecompute:
      c.recompute = RecomputePolicy::kAuto;
      break;
    case RemedyKind::kShardOptimizer:
      ChangeZeroStage(ZeroStage::kOptimizer, &changed.training);
      break;
    case RemedyKind::kFreeDegrees:
      FreeDegrees(*changed.training.trainer, &c);
      break;
    case RemedyKind::kLargerGpu:
      if (const GpuEntry* gpu = FindGpu(remedy.gpu)) ChangeGpu(gpu->spec, &changed);
      break;
    case RemedyKind::kContextParallel:
      c.context_parallel = {1, 0};
      break;
    case RemedyKind::kExpertParallel:
      c.expert_parallel = {1, 0};
      break;
    case RemedyKind::kShardWeights:
      ChangeZeroStage(ZeroStage::kWeights, &changed.training);
      break;
    case RemedyKind::kStageLayers:
      c.stage_layers = remedy.stage_layers;
      c.partition_method = PartitionMethod::kExact;
      break;
    case RemedyKind::kFreeSchedule:
      c.schedule.reset();
      break;
    case RemedyKind::kOffloadOptimizer:
    case RemedyKind::kOffloadActivations:
    case RemedyKind::kOffloadModules:
    case RemedyKind::kOffloadWeights:
      ChooseOffload(remedy.kind, &changed);
      break;
    case RemedyKind::kGradients16Bit:
      changed.training.distributed_gradients_fp32 = false;
      break;
    case RemedyKind::kFusedStep:
    case RemedyKind::kSeparateStep:
      changed.training.fused_step = remedy.kind == RemedyKind::kFusedStep;
      break;
    case RemedyKind::kLowerPrecision:
      ChangePrecision(remedy.precision, &changed);
      break;
    case RemedyKind::kSmallerBatch:
      changed.training.global_batch_samples = remedy.global_batch_samples;
      break;
    case RemedyKind::kMoreHostMemory:
      changed.cluster.host_memory_bytes = remedy.host_memory_bytes;
      break;
    case RemedyKind::kSmallerMicroBatch:
      changed.training.micro_batch_samples = remedy.micro_batch_samples;
      break;
  }
  HoldOffload(job, remedy, &changed);
  return changed;
}

bool ChangesPacksOrGpus(const Remedy& remedy) {
  const RemedyKind kind = remedy.kind;
  return kind == RemedyKind::kSmallerCaps || kind == RemedyKind::kSmallerMicroBatch ||
         kind == RemedyKind::kMoreGpus || kind == RemedyKind::kLargerGpu;
}

}  // namespace evenkeel::planner
