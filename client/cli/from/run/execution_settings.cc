#include "client/cli/from/run/execution_settings.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <algorithm>

#include "client/cli/base/command_error.h"
#include "client/cli/from/run/fsdp.h"
#include "client/cli/from/run/model_of.h"
#include "client/cli/from/run/optimizer_of.h"
#include "client/cli/from/run/torchtitan.h"
#include "client/cli/from/run/trainer_kernels.h"
#include "client/cli/from/settings/choice.h"
#include "client/cli/job/option_names.h"
#include "planner/space/parallelism.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::cli {
namespace {

// Recipes of TransformerEngine (_add_transformer_engine_args).
constexpr Choice<v1::Precision> kRecipes[] = {{"delayed", v1::PRECISION_FP8_DELAYED},
                                              {"tensorwise", v1::PRECISION_FP8},
                                              {"blockwise", v1::PRECISION_FP8_BLOCK},
                                              {"mxfp8", v1::PRECISION_MXFP8}};

// --data-parallel-sharding-strategy of Megatron-FSDP.
constexpr Choice<v1::ZeroStage> kStrategies[] = {{"no_shard", v1::ZERO_STAGE_0},
                                                 {"optim", v1::ZERO_STAGE_1},
                                                 {"optim_grads", v1::ZERO_STAGE_2},
                                                 {"optim_grads_params", v1::ZERO_STAGE_3}};

// --moe-flex-dispatcher-backend, whose default is deepep.
constexpr Choice<v1::ExpertDispatcher> kFlexBackends[] = {
    {"deepep", v1::EXPERT_DISPATCHER_DEEPEP}, {"hybridep", v1::EXPERT_DISPATCHER_HYBRIDEP}};

// Without bf16 and fp16 the weights have the type in which they are loaded.
[[noreturn]] void FailInFullPrecision(const UserConfig& config) {
  if (absl::EndsWith(config.Text(Field::kLoadedType), "float16"))
    config.Refuse(Field::kLoadedType,
                  "not yet: weights and states in 16 bits without a copy in fp32, as neither bf16 "
                  "nor fp16 is on; --precision bf16 --optimizer adam-16bit evaluates such");
  const auto file = config.files.find(RunFile::kArguments);
  throw CommandError(ExitCode::kBadInput,
                     (file == config.files.end() ? "" : file->second + ": ") +
                         "not yet: the configuration trains in fp32 (it has neither bf16 nor "
                         "fp16); --precision bf16 evaluates it in 16 bits");
}

void SetPrecision(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  v1::Training* training = run->job.mutable_training();
  if (!flags.precision.empty()) return;
  const bool torchtitan = config.format == ConfigFormat::kTorchtitan;
  if (torchtitan && config.Text(Field::kWeightType, "float32") != "float32")
    config.Refuse(Field::kWeightType,
                  "not yet: weights and states in 16 bits without a copy in fp32; accepted: "
                  "float32; --precision bf16 --optimizer adam-16bit evaluates such");
  const std::string mixed = config.Text(Field::kMixedPrecision);
  if (config.On(Field::kFp16) && config.On(Field::kBf16))
    config.Refuse(Field::kFp16, "must not be on together with bf16: the trainer refuses both");
  if (config.On(Field::kFp16)) {
    training->set_precision(v1::PRECISION_FP16);
  } else if (torchtitan) {
    training->set_precision(TorchtitanPrecision(config, run));
  } else if (config.On(Field::kBf16, config.trl)) {
    if (config.trl && !config.Has(Field::kBf16))
      run->assumed.push_back("precision: bf16, TRL's default");
    training->set_precision(v1::PRECISION_BF16);
  } else if (config.format == ConfigFormat::kMegatronBridge) {
    training->set_precision(v1::PRECISION_BF16);
    run->assumed.push_back("precision: bf16, the default of Megatron-Bridge's recipes");
  } else if (mixed == "bf16" || mixed == "fp16") {  // the environment's, which accelerate sets
    training->set_precision(mixed == "bf16" ? v1::PRECISION_BF16 : v1::PRECISION_FP16);
  } else if (mixed == "fp8") {
    training->set_precision(v1::PRECISION_BF16);
    run->assumed.push_back(
        "precision: products of 16 bits, not of accelerate's fp8; --precision fp8 evaluates those");
  } else {
    FailInFullPrecision(config);
  }
  if (config.Has(Field::kFp4Format)) {
    training->set_precision(v1::PRECISION_NVFP4);
  } else if (config.Has(Field::kFp8Format)) {
    training->set_precision(Chosen(config, Field::kFp8Recipe, "delayed", kRecipes));
  }
  if (!config.Has(Field::kFp8Format) && !config.Has(Field::kFp4Format)) return;
  v1::Execution* execution = training->mutable_execution();
  execution->set_holds_quantised_weights(config.On(Field::kFp8Weights));
  if (!config.On(Field::kKeepsLayers16Bit)) return;
  execution->set_start_layers_16bit(
      static_cast<int32_t>(config.Int(Field::kStartLayers16Bit, 1, 0, 512)));
  execution->set_end_layers_16bit(
      static_cast<int32_t>(config.Int(Field::kEndLayers16Bit, 1, 0, 512)));
}

// Weights that Hugging Face's Trainer loads in fp32 stay so, and autocast casts them. DeepSpeed and
// FSDP cast them themselves.
void SetAutocast(const UserConfig& config, UserRun* run) {
  if (config.format != ConfigFormat::kHuggingFace || config.uses_deepspeed || run->fsdp) return;
  const v1::Optimizer optimizer = run->job.training().optimizer();
  if (optimizer == v1::OPTIMIZER_ADAM_16BIT || optimizer == v1::OPTIMIZER_ADAM_8BIT) return;
  const std::string loaded = config.Text(Field::kLoadedType);
  if (loaded == "float32" || loaded == "torch.float32")
    run->job.mutable_training()->mutable_execution()->set_autocast(true);
}

bool RunsDeepSpeed(const UserConfig& config) {
  return config.format == ConfigFormat::kDeepSpeed || config.uses_deepspeed;
}

// Returns whether DeepSpeed's section keeps something in host memory. It names a device, or in
// older releases is true.
bool OnHost(const UserConfig& config, Field field) {
  std::string device = config.Text(field);
  if (device == "true") device = "cpu";
  if (device == "false") device = "none";
  if (device != "cpu" && device != "none" && !device.empty())
    config.Refuse(field, "not yet: cpu or none");
  return device == "cpu";
}

// Megatron's switch has a share, of 1 unless it says otherwise; DeepSpeed's names a device.
void SetOffload(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  if (flags.offload_optimizer == "auto")
    throw CommandError(ExitCode::kBadInput,
                       "--offload-optimizer auto: --from evaluates one share: give it, such as 1");
  if (!flags.offload_optimizer.empty() || !config.Has(Field::kOffloadsOptimizer)) return;
  if (RunsDeepSpeed(config)) {
    if (!OnHost(config, Field::kOffloadsOptimizer)) return;
  } else if (!config.On(Field::kOffloadsOptimizer)) {
    return;
  } else if (!config.On(Field::kOverlapOffload)) {
    run->assumed.push_back("offload: copies overlap (--overlap-cpu-optimizer-d2h-h2d)");
  }
  const double share = config.Real(Field::kOffloadShare, 1);
  if (!(share >= 0 && share <= 1)) config.Refuse(Field::kOffloadShare, "must be 0 to 1");
  run->job.mutable_training()->mutable_offload()->set_optimizer_ratio(share);
}

// TransformerEngine's offload: with layers above 0, --cpu-offloading is implied.
void SetActivationOffload(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  if (!flags.offload_activations.empty() || !flags.offload_modules.empty()) return;
  const std::string inputs = config.Text(Field::kOffloadsInputs, "false");
  if (inputs != "true" && inputs != "false" && inputs != "legacy")
    config.Refuse(Field::kOffloadsInputs, "not yet: accepted are true, false, legacy");
  run->offloads_inputs = inputs != "false";
  if (run->offloads_inputs && run->recompute.kind != Recompute::Kind::kEvery)
    config.Refuse(Field::kOffloadsInputs,
                  "not yet: activations in host memory without gradient checkpointing");
  const int64_t layers = config.Int(Field::kOffloadedLayers, 0, 0, 1024);
  if (layers > 0)
    run->job.mutable_training()->mutable_offload()->set_activation_layers(
        static_cast<int32_t>(layers));
}

void SetOffloadedModules(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  if (!flags.offload_modules.empty() || !flags.offload_activations.empty()) return;
  if (!config.On(Field::kOffloadsByModule)) return;
  const std::vector<std::string> names = config.List(Field::kOffloadModules);
  if (names.empty()) config.Refuse(Field::kOffloadsByModule, "needs --offload-modules");
  for (const std::string& name : names) {
    const v1::OffloadModule module = ValueOf(kOffloadModuleNames, name);
    if (module == v1::OFFLOAD_MODULE_UNSPECIFIED)
      config.Refuse(Field::kOffloadModules, "not yet: \"" + name + "\"; accepted: " +
                                                JoinedNames(kOffloadModuleNames, ", "));
    run->job.mutable_training()->mutable_offload()->add_activation_modules(module);
  }
}

// torchtitan's switch moves weights with the optimizer's states; DeepSpeed has a switch for each.
void SetOffloadedWeights(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  if (flags.offload_weights || !config.Has(Field::kOffloadsWeights)) return;
  if (RunsDeepSpeed(config)) {
    if (!OnHost(config, Field::kOffloadsWeights)) return;
    if (!OnHost(config, Field::kOffloadsOptimizer))
      config.Refuse(Field::kOffloadsWeights, "not yet: only with offload_optimizer");
  } else if (!config.On(Field::kOffloadsWeights)) {
    return;
  }
  run->job.mutable_training()->mutable_offload()->set_weights(true);
}

void SetFusedStep(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  if (flags.fused_step.empty() && config.On(Field::kFusedStep))
    run->job.mutable_training()->set_fused_step(true);
}

v1::ZeroStage MegatronSharding(const UserConfig& config) {
  if (config.On(Field::kTorchFsdp)) return v1::ZERO_STAGE_3;
  if (config.On(Field::kMegatronFsdp))
    return Chosen(config, Field::kFsdpStrategy, "no_shard", kStrategies);
  const bool muon = config.Text(Field::kOptimizer, "adam") == "dist_muon";
  return config.On(Field::kShardsOptimizer) || muon ? v1::ZERO_STAGE_1 : v1::ZERO_STAGE_0;
}

// Without FSDP and DeepSpeed, Hugging Face's Trainer shards nothing.
v1::ZeroStage ConfiguredSharding(const UserConfig& config, UserRun* run, int64_t* groups) {
  switch (config.format) {
    case ConfigFormat::kDeepSpeed:
      break;
    case ConfigFormat::kHuggingFace:
      if (!FsdpOptions(config).empty()) return FsdpSharding(config, run, groups);
      if (config.Has(Field::kReshard) || config.Has(Field::kFsdpVersion) ||
          config.On(Field::kFsdpOffload) || config.On(Field::kFsdpRecompute))
        run->assumed.push_back("fsdp_config: of no effect, as fsdp is off");
      // DeepSpeedPlugin of accelerate/utils/dataclasses.py.
      if (!config.uses_deepspeed || config.engine_file) break;
      run->accelerate_key = "deepspeed_config.zero_stage";
      if (config.Has(Field::kZeroStage)) break;
      run->assumed.push_back("ZeRO: stage 2, accelerate's default");
      return v1::ZERO_STAGE_2;
    case ConfigFormat::kTorchtitan:
      *groups = config.Int(Field::kDataReplicas, 1, 1, planner::kGpusAtMost);
      return TorchtitanSharding(config, *run);
    default:
      *groups = config.Int(Field::kOptimizerInstances, 1, 1, planner::kGpusAtMost);
      return MegatronSharding(config);
  }
  return static_cast<v1::ZeroStage>(config.Int(Field::kZeroStage, 0, 0, 3) + 1);
}

void SetSharding(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  v1::Training* training = run->job.mutable_training();
  const int64_t copies = int64_t{run->degrees.data()} * run->degrees.context();
  int64_t groups = 1;
  // The configuration is read with --zero too: it says what else FSDP does.
  const v1::ZeroStage stage = ConfiguredSharding(config, run, &groups);
  if (flags.zero) {
    groups = 1;
  } else {
    training->set_zero_stage(stage);
  }
  if (training->zero_stage() == v1::ZERO_STAGE_0) {
    training->clear_zero_group();
  } else if (groups > 1 && copies % groups == 0 && !flags.zero_group) {
    training->set_zero_group(static_cast<int32_t>(copies / groups));
  }
  std::string type = config.Text(Field::kGradientType, "");
  // Gradients of torchtitan have the type of the weights: FSDP casts what it has reduced back.
  if (config.On(Field::kGradient16Bit) || config.Text(Field::kWeightType) == "bfloat16")
    type = "bf16";
  // Megatron-LM accumulates in fp32 only with bfloat16, unless it is asked to.
  if (HasMegatronArguments(config.format) && config.On(Field::kFp16) &&
      !config.On(Field::kGradientFp32))
    type = "fp16";
  if (config.format == ConfigFormat::kHuggingFace && type.empty()) {
    // PyTorch's have the type of the weights, of which this optimizer has no copy in fp32.
    if ((training->optimizer() != v1::OPTIMIZER_ADAM_16BIT &&
         training->optimizer() != v1::OPTIMIZER_ADAM_8BIT) ||
        training->gradient_precision() != v1::GRADIENT_PRECISION_UNSPECIFIED)
      return;
    type = "bf16";
  }
  // Without ZeRO, DeepSpeed accumulates in the type of the weights.
  if (config.format == ConfigFormat::kDeepSpeed && type.empty()) type = "bf16";
  const bool wide = type.empty() || type == "fp32" || type == "float32";
  training->set_gradient_precision(wide ? v1::GRADIENT_PRECISION_FP32
                                        : v1::GRADIENT_PRECISION_16BIT);
}

// What exchanges rows between ranks of experts; without such ranks nothing does.
void SetDispatcher(const UserConfig& config, v1::Execution* execution) {
  const std::string type = config.Text(Field::kDispatcher, "allgather");
  if (type == "alltoall") {
    execution->set_expert_dispatcher(v1::EXPERT_DISPATCHER_ALL_TO_ALL);
  } else if (type == "allgather") {
    execution->set_expert_dispatcher(v1::EXPERT_DISPATCHER_ALL_GATHER);
  } else if (type == "flex") {
    // --moe-enable-deepep, of older releases, asks for the default.
    execution->set_expert_dispatcher(
        Chosen(config, Field::kFlexDispatcher, "deepep", kFlexBackends));
  } else {
    config.Refuse(Field::kDispatcher, "not yet: supported are allgather, alltoall, flex");
  }
  execution->set_overlap_shared_expert(config.On(Field::kOverlapSharedExpert));
}

v1::ContextExchange MegatronExchange(const std::string& name) {
  if (name == "a2a") return v1::CONTEXT_EXCHANGE_ULYSSES;
  if (name == "all_gather" || name == "allgather") return v1::CONTEXT_EXCHANGE_ALL_GATHER;
  return name == "a2a+p2p" ? v1::CONTEXT_EXCHANGE_HIERARCHICAL : v1::CONTEXT_EXCHANGE_RING;
}

// A switch, or the name of an implementation.
bool HasGraphs(const UserConfig& config) {
  if (!config.Has(Field::kCudaGraph)) return false;
  if (config.List(Field::kCudaGraph).empty()) return true;
  const std::string name = absl::AsciiStrToLower(config.Text(Field::kCudaGraph));
  return name != "none" && name != "false" && name != "0" && !name.empty();
}

// The defaults are those of Megatron-LM's arguments.
void SetMegatronExecution(const UserConfig& config, UserRun* run) {
  v1::Execution* e = run->job.mutable_training()->mutable_execution();
  const bool local = config.Text(Field::kTransformerImpl, "transformer_engine") == "local";
  e->set_fused_kernels(!local);
  e->set_sequence_parallel(config.On(Field::kSequenceParallel));
  std::string backend = config.Text(Field::kAttentionBackend, "auto");
  if (config.On(Field::kFlashAttention)) backend = "flash";
  if (local) backend = "local";  // which has no other attention
  e->set_attention_kernel(absl::StrContains(backend, "unfused") || backend == "local"
                              ? v1::ATTENTION_KERNEL_UNFUSED
                              : v1::ATTENTION_KERNEL_FLASH);
  if (run->degrees.context() > 1)
    e->set_context_exchange(MegatronExchange(config.Text(Field::kContextExchange, "p2p")));
  e->set_dropout(config.Real(Field::kAttentionDropout, 0.1) > 0 ||
                 config.Real(Field::kHiddenDropout, 0.1) > 0);
  const bool fused = config.On(Field::kLossFusion);
  const bool te = config.Text(Field::kLossFusionImpl, "native") == "te";
  e->set_fused_loss(fused && te);
  e->set_compiled_loss(fused && !te);
  e->set_overlap_gradient_reduce(config.On(Field::kOverlapGradients));
  e->set_overlap_weight_gather(config.On(Field::kOverlapWeights));
  const bool deterministic = config.On(Field::kDeterministic);
  if (deterministic) e->set_deterministic(true);
  // Megatron turns the overlap off in that mode. Only TransformerEngine's layers have user buffers.
  e->set_overlap_tensor(config.On(Field::kOverlapTensor) && !deterministic && !local);
  if (config.On(Field::kOverlapTensor) && local)
    run->assumed.push_back("tp-comm-overlap: of no effect with --transformer-impl local");
  e->set_fused_weight_gradients(!config.On(Field::kNoGradientFusion));
  if (config.On(Field::kNoActivationFusion)) e->set_fused_activation(false);
  if (config.On(Field::kNoRotaryFusion)) e->set_fused_rotary(false);
  if (HasGraphs(config)) e->set_host_launch_seconds(0);
  if (config.Has(Field::kExperts)) {
    e->set_grouped_experts(config.On(Field::kGroupedExperts));
    e->set_overlap_experts(config.On(Field::kOverlapExperts));
    if (config.Has(Field::kCapacityFactor))
      e->set_expert_capacity_ratio(config.Real(Field::kCapacityFactor, 0));
    if (config.On(Field::kForcedBalance)) e->set_expert_capacity_ratio(1);
  }
  if (run->degrees.expert() <= 1) return;
  run->enables_deepep = config.On(Field::kDeepEp);
  SetDispatcher(config, e);
  e->set_expert_tensor_parallel(
      static_cast<int32_t>(config.Int(Field::kExpertTensor, run->degrees.tensor(), 1, 1024)));
}

// Buckets of 16-bit values: two that reduce and one that gathers; one at stage 3
// (deepspeed/runtime/zero/stage_1_and_2.py, stage3.py).
void SetBuckets(const UserConfig& config, UserRun* run) {
  if (!config.Has(Field::kBucketValues) && !config.Has(Field::kGatherBucketValues)) return;
  constexpr int64_t kDefault = 500000000, kMost = 100000000000;
  v1::Training* training = run->job.mutable_training();
  int64_t reduced = 0;
  if (config.Text(Field::kBucketValues) == "auto") {
    // HfTrainerDeepSpeedConfig of transformers/integrations/deepspeed.py.
    const int64_t hidden = WidthsOf(run->job.model()).hidden;
    if (hidden == 0) {
      run->assumed.push_back("reduce_bucket_size: DeepSpeed's default, as the width is not known");
      return;
    }
    reduced = hidden * hidden;
    run->assumed.push_back(fmt::format("reduce_bucket_size: {}, the square of the width", reduced));
  } else {
    reduced = config.Int(Field::kBucketValues, kDefault, 1, kMost);
  }
  const bool shards_weights = training->zero_stage() == v1::ZERO_STAGE_3;
  const int64_t gathered = config.Int(Field::kGatherBucketValues, kDefault, 1, kMost);
  training->mutable_execution()->set_bucket_bytes(shards_weights ? 2 * reduced
                                                                 : 4 * reduced + 2 * gathered);
}

void SetOtherExecution(const UserConfig& config, UserRun* run) {
  v1::Execution* e = run->job.mutable_training()->mutable_execution();
  if (config.On(Field::kDeterministic)) {
    e->set_deterministic(true);
    run->deterministic_key = config.fields.at(Field::kDeterministic).key;
  }
  if (config.format == ConfigFormat::kTorchtitan) {
    SetTorchtitanExecution(config, run);
    return;
  }
  if (config.Has(Field::kOverlapGradients))
    e->set_overlap_gradient_reduce(config.On(Field::kOverlapGradients));
  if (config.Has(Field::kAttentionBackend)) SetTrainerAttention(config, run);
  // Accelerate wraps the layers of FSDP in PyTorch's non-reentrant checkpoint. A reentrant one runs
  // FSDP's hooks twice (https://github.com/huggingface/transformers/issues/30404,
  // https://github.com/verl-project/verl/pull/114).
  if (config.Has(Field::kReentrant) && !config.On(Field::kFsdpRecompute)) {
    e->set_stops_recompute_early(!config.On(Field::kReentrant));
    if (run->fsdp) e->set_gathers_to_recompute(config.On(Field::kReentrant));
  }
  SetBuckets(config, run);
}

void SetTrainer(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  if (!flags.trainer.empty() || !flags.framework.empty()) return;
  v1::Training* training = run->job.mutable_training();
  const v1::ZeroStage zero = training->zero_stage();
  training->clear_framework();
  std::string name = "megatron-core";
  if (config.format == ConfigFormat::kTorchtitan) name = "torchtitan";
  if (config.format == ConfigFormat::kMegatronBridge) name = "megatron-bridge";
  // In the contract torchtitan shards weights and has no pipeline.
  const char* others = "";
  if (name == "torchtitan" && (run->degrees.pipeline() > 1 || zero != v1::ZERO_STAGE_3)) {
    const std::string& there = run->job.training().trainer().name();
    name = there.empty() || there == "torchtitan" ? "generic" : there;
  }
  if (config.format == ConfigFormat::kTorchtitan && name == "generic") {
    AddTorchtitanDefaults(training->mutable_execution());
    others = ", with torchtitan's modules: its own record shards weights and has no pipeline";
  }
  const bool split = run->degrees.pipeline() > 1 || run->degrees.tensor() > 1;
  if (config.format == ConfigFormat::kDeepSpeed) name = split ? "megatron-deepspeed" : "deepspeed";
  if (config.format == ConfigFormat::kHuggingFace) name = "huggingface-trainer";
  // Weights that are sharded are FSDP's in the contract, which then has no pipeline.
  if (name == "megatron-core" && zero == v1::ZERO_STAGE_3 && !split) name = "fsdp";
  training->mutable_trainer()->set_name(name);
  training->mutable_trainer()->clear_version();
  if (run->fsdp) {
    SetFsdpTrainer(run);
    // The Trainer holds a model's outputs, however they are sharded.
    training->mutable_execution()->set_loss_logit_bytes(
        planner::FindTrainer("huggingface-trainer")->default_execution.loss_bytes_per_logit);
  }
  if (run->fsdp && zero == v1::ZERO_STAGE_0) others = ", without shards";
  if (run->fsdp && zero == v1::ZERO_STAGE_1) others = ", with ZeRO-1 for its shards";
  if (run->fsdp && zero == v1::ZERO_STAGE_2) others = ", with ZeRO-2 for its shards";
  if (run->fsdp) name = "pytorch-fsdp";
  run->assumed.push_back("trainer: the defaults of " + name + others);
}

}  // namespace

void SetExecutionSettings(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  SetPrecision(config, flags, run);
  SetOptimizer(config, flags, run);
  SetOffload(config, flags, run);
  SetActivationOffload(config, flags, run);
  SetOffloadedModules(config, flags, run);
  SetOffloadedWeights(config, flags, run);
  SetFusedStep(config, flags, run);
  SetSharding(config, flags, run);
  if (HasMegatronArguments(config.format)) {
    SetMegatronExecution(config, run);
  } else {
    SetOtherExecution(config, run);
  }
  SetLoadedType(config, flags, run);
  SetUnfusedAdam(config, run);
  SetAutocast(config, run);
  SetTrainer(config, flags, run);
  SetTrainerLoss(config, run);
  SetCompiledModules(config, run);
}

}  // namespace evenkeel::cli
