#include "planner/launch/other_trainer.h"

#include <algorithm>

#include "planner/launch/launch_record.h"
#include "planner/space/degrees.h"
#include "planner/space/fused_step.h"
#include "planner/space/offload.h"
#include "planner/space/trainer_recompute.h"
#include "planner/trainer/carried.h"

namespace evenkeel::planner {
namespace {

void SetTraining(const Trainer& trainer, const Job& job, Training* to) {
  const Trainer& own = *job.training.trainer;
  to->trainer = &trainer;
  to->trainer_name.clear();
  to->trainer_version.clear();
  if (trainer.always_shards_weights) {
    to->zero_stage = ZeroStage::kWeights;
  } else if (own.always_shards_weights) {
    to->zero_stage = trainer.zero_stage;
  }
  const bool float16 = job.launch.float16;
  if (job.training.distributed_gradients_fp32 ==
      AccumulatesInFp32(own, job.training.zero_stage, float16))
    to->distributed_gradients_fp32 = AccumulatesInFp32(trainer, to->zero_stage, float16);
  const Execution defaults =
      DefaultExecution(own, job.training.zero_stage, to->optimizer, !float16);
  Execution carried = job.training.execution;
  if (carried.autocast) {  // no settings say it, nor what it entails
    carried.autocast = false;
    carried.casts_master_weights = defaults.casts_master_weights;
    carried.reduces_fp32 = defaults.reduces_fp32;
    carried.reduce_traffic_bytes = defaults.reduce_traffic_bytes;
    to->distributed_gradients_fp32 = AccumulatesInFp32(trainer, to->zero_stage, float16);
  }
  to->execution = CarryOverrides(
      defaults, carried, DefaultExecution(trainer, to->zero_stage, to->optimizer, !float16));
  Execution& execution = to->execution;
  if (execution.dispatcher != Dispatcher::kLeastTime &&
      (trainer.dispatchers & DispatcherBit(execution.dispatcher)) == 0)
    execution.dispatcher = DefaultExecution(trainer, to->zero_stage).dispatcher;
  execution.stores_weight_remainders &= trainer.precision_aware_optimizer;
  if (!trainer.keeps_layers_16bit) execution.start_layers_16bit = execution.end_layers_16bit = 0;
}

// Limits the constraints of a job of the trainer `own` to the abilities of `trainer`. Returns false
// if they ask for more.
bool Hold(const Trainer& own, const Trainer& trainer, const Training& training, Constraints* c) {
  if (trainer.encoder_split == EncoderSplit::kNone && !Admits(c->encoder_data, 1)) return false;
  if (!c->stage_layers.empty() || (c->partition_method != PartitionMethod::kExact &&
                                   c->partition_method != DefaultMethod(own, *c)))
    return false;
  c->partition_method = DefaultMethod(trainer, *c);
  const Schedule schedule = c->schedule.value_or(Schedule::kOneFOneB);
  const bool chunks = schedule == Schedule::kInterleaved || c->virtual_stages.min > 1;
  if (schedule == Schedule::kGPipe || schedule == Schedule::kZeroBubble) return false;
  if (chunks && (!trainer.interleaves || !trainer.cuts_encoder)) return false;
  const auto one = [](DegreeRange* range) {
    const bool admits = Admits(*range, 1);
    *range = {1, 1};
    return admits;
  };
  if (!trainer.tensor_parallel && !one(&c->tensor_parallel)) return false;
  if (!trainer.expert_parallel && !one(&c->expert_parallel)) return false;
  const bool pipeline = trainer.pipeline && training.zero_stage != ZeroStage::kWeights;
  return pipeline || (one(&c->pipeline_parallel) && one(&c->virtual_stages));
}

// Limits the job to the choices that its trainer combines with offloaded activations. Returns false
// if it cannot offload them.
bool HoldActivations(Job* job) {
  const ActivationOffload& activations = job->training.activations;
  if (activations.modules != 0) {
    const OffloadModules stay = ModulesBeside(OffloadModulesOf(*job), activations.beside);
    if (!AdmitsModuleOffload(*job) || (activations.modules & ~stay) != 0) return false;
    *job = WithModules(*job, activations.modules, activations.modules, activations.beside);
    return true;
  }
  const int64_t layers = job->training.activations.layers;
  if (layers == 0) return true;
  const int64_t most = OffloadedLayersAtMost(*job);
  const bool possible =
      layers == most || (layers < most && job->training.trainer->activations.any_count);
  if (!possible || !AdmitsActivationOffload(*job)) return false;
  *job = WithActivations(*job, layers, layers);
  return true;
}

}  // namespace

const Trainer& TrainerToLaunch(LaunchFramework framework, const Job& job) {
  const Trainer& own = *job.training.trainer;
  const LaunchRecord& record = RecordOf(framework);
  const auto& names = record.trainers;
  if (std::find(names.begin(), names.end(), own.name) != names.end()) return own;
  const bool sharded = !own.pipeline && !record.without_pipeline.empty();
  return *FindTrainer(sharded ? record.without_pipeline : names.front());
}

std::optional<Job> JobForTrainer(const Trainer& trainer, const Job& job) {
  if (job.training.precision != Precision::k16Bit && !trainer.low_precision) return std::nullopt;
  Job other = job;
  SetTraining(trainer, job, &other.training);
  if (!HoldActivations(&other)) return std::nullopt;
  Constraints& c = other.constraints;
  OptimizerOffload& offload = other.training.offload;
  if (offload.weights &&
      !(trainer.offload.weights && other.training.zero_stage == ZeroStage::kWeights))
    return std::nullopt;
  switch (offload.weights ? OffloadShares::kAny
                          : OffloadSharesOf(trainer, other.training.zero_stage)) {
    case OffloadShares::kAny:
      break;
    case OffloadShares::kWhole:
      if (offload.ratio > 0) offload.ratio = offload.charged_ratio = 1;
      break;
    case OffloadShares::kNone:
      if (offload.ratio > 0) return std::nullopt;
      break;
  }
  if (!Hold(*job.training.trainer, trainer, other.training, &c)) return std::nullopt;
  if (!AdmitsFusedStep(other)) other.training.fused_step = false;
  const RecomputePolicy freest = FreestRecompute(trainer);
  if (c.recompute == FreestRecompute(*job.training.trainer) ||
      c.recompute == RecomputePolicy::kAuto || c.recompute == RecomputePolicy::kOneSetting)
    c.recompute = freest;
  return other;
}

}  // namespace evenkeel::planner
