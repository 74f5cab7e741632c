#include "planner/trainer/trainers.h"

#include <algorithm>
#include <array>

#include "planner/trainer/executions.h"

namespace evenkeel::planner {
namespace {

// The parts of a record other than its defaults.
struct About {
  std::string_view name;
  std::string_view alias = {};
  std::string_view title, source;
  int fitted_runs = 0;
};

constexpr Trainer Record(const About& about, Framework framework) {
  return {.name = about.name,
          .alias = about.alias,
          .title = about.title,
          .framework = framework,
          .source = about.source,
          .fitted_runs = about.fitted_runs};
}

// Megatron-Core's HybridDeviceOptimizer (core/optimizer/cpu_offloading) offloads the first weights
// up to a share of each rank's; copies and updates of weights overlap
// (--overlap-cpu-optimizer-d2h-h2d). It needs --use-precision-aware-optimizer, which needs the
// sharded optimizer.
constexpr OffloadAbility kHybridOptimizer = {
    .by_stage = {OffloadShares::kNone, OffloadShares::kAny, OffloadShares::kNone,
                 OffloadShares::kNone},
    .overlaps = true};

// DeepSpeed's offload_optimizer works with stages 1, 2 and 3, its `ratio` only with stage 3
// (deepspeed/runtime/zero/offload_config.py). CPUAdam runs when all gradients are there, and the
// weights are copied when it is done. In addition, offload_param keeps the 16-bit shards of stage 3
// on the host, too (partition_parameters.py, 0.19.8).
constexpr OffloadAbility kCpuAdam = {.by_stage = {OffloadShares::kNone, OffloadShares::kWhole,
                                                  OffloadShares::kWhole, OffloadShares::kAny},
                                     .weights = true};

constexpr OffloadAbility kAnyOffload = {.by_stage = {OffloadShares::kAny, OffloadShares::kAny,
                                                     OffloadShares::kAny, OffloadShares::kAny},
                                        .overlaps = true,
                                        .weights = true};

// FSDP2's CPUOffloadPolicy moves all of a module's shard or nothing
// (torch/distributed/fsdp/_fully_shard/_fsdp_param.py).
constexpr Trainer OffloadsWeights(Trainer trainer) {
  trainer.offload.weights = true;
  return trainer;
}

// A hook of each shard (register_post_accumulate_grad_hook) steps and frees its gradient when
// foreach_reduce of torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py has set it. torchtitan
// has it as optimizer.early_step_in_backward up to 0.2, not with expert or pipeline parallelism
// (build_optimizers of components/optimizer.py); torchtune as optimizer_in_bwd, not with gradient
// accumulation or clipping (recipes/full_finetune_distributed.py). DeepSpeed has none,
// Megatron-FSDP needs that hook itself, and GaLore's layer-wise optimizer of Hugging Face's Trainer
// runs on one GPU.
constexpr Trainer StepsInBackward(FusedStep fused_step, std::string_view hint, Trainer trainer) {
  trainer.fused_step = fused_step;
  trainer.fused_step_hint = hint;
  return trainer;
}

// TransformerEngine's offload of layers (--cpu-offloading-num-layers): less than all layers,
// without a pipeline, without any recompute (__post_init__ of megatron/core/transformer/
// transformer_config.py). Layers with experts are not supported (NVIDIA/Megatron-LM pull request
// 1913). Copies overlap with the layers' compute. Its other way, --offload-modules, has copies that
// follow the pipeline's chunks (pipeline_parallel/fine_grained_activation_offload.py, 0.16.1).
constexpr ActivationAbility kMegatronActivations = {
    .kept = true, .any_count = true, .modules = kAllOffloadModules};

// The input that a recomputed layer keeps: OffloadActivations of torchtune, which its recipes
// accept only with enable_activation_checkpointing, and which TRL and axolotl have for Hugging
// Face's Trainer (activation_offloading); and XTUNER_ACTIVATION_OFFLOAD of XTuner v1
// (async_save_on_cpu). All copy on streams of their own.
constexpr ActivationAbility kLayerInputs = {.inputs = true, .all_layers = true, .experts = true};

constexpr ActivationAbility kAnyLayers = {.kept = true,
                                          .inputs = true,
                                          .any_count = true,
                                          .all_layers = true,
                                          .pipeline = true,
                                          .experts = true};

// Returns a record of a trainer that offloads the inputs of layers.
constexpr Trainer OffloadsInputs(Trainer trainer, std::string_view hint = {}) {
  trainer.activations = kLayerInputs;
  trainer.activation_hint = hint;
  return trainer;
}

// Returns a record with Megatron's degrees.
constexpr Trainer ThreeDimensional(const About& about, const Execution& execution) {
  Trainer trainer = Record(about, Framework::kMegatron);
  trainer.default_execution = trainer.default_execution_at_zero3 = execution;
  trainer.one_recompute_setting = true;
  return trainer;
}

// Abilities of a trainer with Megatron's degrees, other than the recompute of every layer.
struct Abilities {
  bool block_recompute = true, interleaves = true, context_with_pipeline = true;
  bool megatrons = false;  // its kernels and what it does with float16 are Megatron's
  OffloadAbility offload = {};
};

// Returns a record with Megatron's degrees that recomputes only whole layers.
constexpr Trainer WithWholeLayers(const About& about, const Execution& execution,
                                  const Abilities& abilities) {
  Trainer trainer = ThreeDimensional(about, execution);
  trainer.selective_recompute = false;
  trainer.block_recompute = abilities.block_recompute;
  trainer.interleaves = abilities.interleaves;
  trainer.context_with_pipeline = abilities.context_with_pipeline;
  trainer.megatron_kernels = trainer.fp16_gradients_16bit = abilities.megatrons;
  trainer.offload = abilities.offload;
  return trainer;
}

// Returns `trainer` without padding of the vocabulary. Megatron pads it to a multiple of 128 x the
// tensor degree (vocab_size_with_padding of megatron/training/tokenizer).
constexpr Trainer WithRawVocabulary(Trainer trainer) {
  trainer.pads_vocabulary = false;
  return trainer;
}

// Returns `trainer` with its own cut into stages: users cannot choose the layers of each stage.
constexpr Trainer CutsBy(PartitionMethod method, Trainer trainer) {
  trainer.partition_method = method;
  return trainer;
}

// Returns a record with Megatron-Core's defaults and none of its limits.
constexpr Trainer Unlimited(const About& about) {
  Trainer trainer = Record(about, Framework::kMegatron);
  trainer.megatron_kernels = trainer.megatron_memory = true;
  trainer.precision_aware_optimizer = true;
  trainer.low_precision = trainer.keeps_layers_16bit = trainer.quantised_base = true;
  trainer.encoder_split = EncoderSplit::kAny;
  trainer.dispatchers = kMegatronDispatchers;
  trainer.offload = kAnyOffload;
  trainer.activations = kAnyLayers;
  trainer.activations.modules = kAllOffloadModules;
  trainer.fused_step = FusedStep::kAny;
  return trainer;
}

constexpr Execution kHeadsOrRing = {.context = ContextKind::kUlyssesOrRing};

// Megatron-Core shares no images: its colocated encoders (ColocatedBridgeCommunicator of
// megatron/core/models/mimo) have data ranks of their own, but refuse context parallelism and
// batches whose images the ranks do not divide, which packs do not promise. Megatron-Bridge shares
// them between context ranks only for Nemotron Omni (vision_dp_over_cp).
constexpr Trainer MegatronCore(const About& about) {
  Trainer trainer = ThreeDimensional(about, kHeadsOrRing);
  trainer.transformer_engine_context = true;
  trainer.megatron_kernels = trainer.megatron_memory = trainer.fp16_gradients_16bit = true;
  trainer.cuts_encoder = false;
  trainer.precision_aware_optimizer = true;
  trainer.offload = kHybridOptimizer;
  trainer.activations = kMegatronActivations;
  trainer.low_precision = trainer.keeps_layers_16bit = true;
  trainer.dispatchers = kMegatronDispatchers;
  return trainer;
}

// Returns a record of Megatron-Core as the performance recipes of its wrappers run it: they set
// fp8_param_gather.
constexpr Trainer MegatronWrapper(const About& about) {
  Trainer trainer = MegatronCore(about);
  trainer.fp32_gradients = false;
  trainer.default_execution.holds_quantised_weights = true;
  trainer.default_execution_at_zero3.holds_quantised_weights = true;
  return trainer;
}

// Returns the defaults of a trainer whose linear layers are TransformerEngine's.
constexpr Execution WithTransformerEngine(Execution execution) {
  execution.keeps_quantised_inputs = true;
  return execution;
}

// Adapters with frozen weights in 4 bits (in 8, without sharded weights): bitsandbytes under PEFT
// works with every ZeRO stage and with FSDP (PEFT 0.10, docs/source/accelerate); torchtune has NF4
// of its own. Megatron-Core and XTuner v1 have neither.
constexpr Trainer WithQuantisedBase(Trainer trainer) {
  trainer.quantised_base = true;
  return trainer;
}

// Returns a record of a trainer that shards fully, module by module.
constexpr Trainer Sharded(const About& about, const Execution& execution) {
  Trainer trainer = Record(about, Framework::kFsdp);
  trainer.pipeline = trainer.selective_recompute = false;
  trainer.always_shards_weights = true;
  trainer.pads_vocabulary = false;
  trainer.zero_stage = ZeroStage::kWeights;
  trainer.low_precision = true;
  trainer.default_execution = trainer.default_execution_at_zero3 = execution;
  return trainer;
}

// Returns `trainer` without expert parallelism, which its modules lack. LLM Foundry's experts can
// be shared between ranks only in layers of MegaBlocks, which have other kernels.
constexpr Trainer WithoutExpertParallel(Trainer trainer) {
  trainer.expert_parallel = false;
  return trainer;
}

// Returns `trainer` without tensor parallelism.
constexpr Trainer WithoutTensorParallel(Trainer trainer) {
  trainer.tensor_parallel = false;
  return trainer;
}

// Returns `trainer` without expert and tensor parallelism, which its modules lack.
constexpr Trainer ShardsAlone(Trainer trainer) {
  return WithoutTensorParallel(WithoutExpertParallel(trainer));
}

// XTuner v1 calls zero_grad, which sets gradients to None, after each step (step_optimizer of
// xtuner/v1/engine/train_engine.py).
constexpr Trainer FreesGradients(Trainer trainer) {
  for (Execution* e : {&trainer.default_execution, &trainer.default_execution_at_zero3})
    e->frees_gradients = e->pools_gradients = true;
  return trainer;
}

// Returns `trainer` with context ranks that share the images of a pack.
constexpr Trainer SharesImages(Trainer trainer) {
  trainer.encoder_split = EncoderSplit::kContext;
  return trainer;
}

// Returns a record of a trainer with these dispatchers of experts.
constexpr Trainer With(DispatcherSet dispatchers, Trainer trainer) {
  trainer.dispatchers = dispatchers;
  return trainer;
}

// XTuner v1: MoEConfig.dispatcher is "all2all" or "deepep". torchtitan: its
// expert_parallel_comm_backend is "standard", "deepep" or "hybridep".
constexpr DispatcherSet kXTunerDispatchers =
    DispatcherBit(Dispatcher::kAllToAll) | DispatcherBit(Dispatcher::kDeepEp);
constexpr DispatcherSet kTitanDispatchers =
    kXTunerDispatchers | DispatcherBit(Dispatcher::kHybridEp);

// Its recompute is SelectiveAC or FullAC, by layer (distributed/activation_checkpoint.py). Context
// ranks gather keys and values (distributed/context_parallel/api.py, 0.3.0; the default of
// PyTorch's _ContextParallelOptions).
constexpr Trainer Torchtitan(const About& about) {
  Execution execution = AroundFsdp2(EagerShards(0.96), /*reduces_fp32=*/true);
  // The configurations of all models have ChunkedCELoss since May 2026 (pull request 2937). The
  // allocator keeps the block of a chunk's 16-bit logits, into which no fp32 tensor fits.
  execution.loss_bytes_per_logit = kHeldLogitsLossBytes / kTitanLossChunks;
  // _nll_loss_and_log_softmax_backward of torch/distributed/tensor/parallel/loss.py holds four fp32
  // tensors at once: log-softmax, gradient of the target, exponential and their sum.
  execution.tensor_loss_bytes_per_logit = 4 / kTitanLossChunks;
  // torch.nn.RMSNorm is one kernel from PyTorch 2.9 on (pull request 153666), and keeps its input.
  execution.rms_norm_bytes = 2;
  // Linear layers of DTensors. all_gather_tensor and reduce_scatter_tensor of
  // torch/distributed/_functional_collectives.py join chunks along any dimension but the first.
  execution.keeps_gathered_inputs = execution.copies_tensor_rows = true;
  execution.context = ContextKind::kAllGather;
  // activation_checkpoint.early_stop, which came in 2025, is off unless it is set. Without it,
  // recompute stopped early.
  execution.stops_recompute_early = false;
  Trainer trainer = With(kTitanDispatchers, Sharded(about, execution));
  trainer.alternate_products = true;
  return trainer;
}

// Returns a record of Megatron-Core's layers under Megatron-FSDP.
constexpr Trainer MegatronFsdp(const About& about) {
  Trainer trainer = With(kMegatronDispatchers, Sharded(about, kHeadsOrRing));
  trainer.transformer_engine_context = true;
  trainer.megatron_kernels = trainer.megatron_memory = trainer.fp16_gradients_16bit = true;
  trainer.keeps_layers_16bit = trainer.pads_vocabulary = true;
  return trainer;
}

constexpr Trainer AroundHuggingFace(const About& about, double loss_bytes) {
  Trainer trainer = Record(about, Framework::kDeepSpeed);
  trainer.tensor_parallel = trainer.pipeline = trainer.selective_recompute = false;
  trainer.pads_vocabulary = false;
  trainer.sharded_gradients_16bit = true;
  trainer.offload = kCpuAdam;
  trainer.default_execution = DeepSpeed(/*shards_weights=*/false, loss_bytes);
  trainer.default_execution_at_zero3 = DeepSpeed(/*shards_weights=*/true, loss_bytes);
  // Its optimizer for bf16 holds flat gradients (deepspeed/runtime/bf16_optimizer.py).
  trainer.default_execution_unsharded = trainer.default_execution;
  trainer.default_execution_unsharded->frees_gradients = false;
  return trainer;
}

// Hugging Face's Trainer runs DeepSpeed only for its stages; otherwise PyTorch's own modules and
// optimizers. It calls model.zero_grad(), and compute_loss returns only the loss, so that the
// 16-bit logits are gone when the backward pass begins (trainer.py; measured in
// tests/measure/h100.jsonl).
constexpr Trainer WithoutEngine(Trainer trainer) {
  trainer.default_execution_unsharded = kEager;
  trainer.default_execution_unsharded->stops_recompute_early = true;
  trainer.default_execution_unsharded->frees_gradients = true;
  trainer.default_execution_unsharded->loss_bytes_per_logit = kEagerLossBytes;
  trainer.default_execution_unsharded->fp32_adapters = true;
  return trainer;
}

// NeMo AutoModel has tensor, pipeline and expert parallelism in addition to FSDP2, and DeepEP. It
// wraps mlp, self_attn and both norms of a layer in checkpoints
// (nemo_automodel/components/distributed/parallelizer.py).
constexpr Trainer AutoModel(const About& about) {
  Trainer trainer = WithRawVocabulary(WithWholeLayers(about, kAutoModel, {}));
  trainer.zero_stage = ZeroStage::kWeights;
  trainer.fp32_gradients = false;
  trainer.low_precision = trainer.quantised_base = true;
  trainer.dispatchers = kXTunerDispatchers;
  trainer.checkpoint_inputs = 4;
  return trainer;
}

// Returns the record for trainers that have none, which may run any recipe.
constexpr Trainer Generic(const About& about) {
  Trainer trainer = WithRawVocabulary(WithWholeLayers(about, kGeneric, {.offload = kAnyOffload}));
  trainer.has_record = false;
  trainer.low_precision = trainer.keeps_layers_16bit = trainer.quantised_base = true;
  trainer.dispatchers = kMegatronDispatchers;
  trainer.activations = kAnyLayers;
  trainer.fused_step = FusedStep::kAny;
  // Only a sharded optimizer flattens gradients.
  trainer.default_execution_unsharded = kGeneric;
  trainer.default_execution_unsharded->update_bytes_per_parameter = 0;
  return trainer;
}

constexpr std::array kTrainers = {
    MegatronCore({.name = "megatron-core",
                  .alias = "megatron-lm",
                  .title = "Megatron-Core",
                  .source = "the flags that its users set; host time from AWS's published runs of "
                            "mixtures of experts",
                  .fitted_runs = 9}),
    MegatronWrapper({.name = "megatron-bridge",
                     .title = "Megatron-Bridge",
                     .source = "Megatron-Core; its performance recipes set "
                               "grad_reduce_in_fp32=False"}),
    MegatronWrapper({.name = "nemo",
                     .title = "NeMo",
                     .source = "Megatron-Core; its performance recipes set "
                               "grad_reduce_in_fp32=False"}),
    WithWholeLayers(
        {.name = "megatron-deepspeed",
         .title = "Megatron-DeepSpeed",
         .source =
             "its fork of Megatron-LM has neither sequence parallelism nor a fused loss; host "
             "time from vTrain's published runs of one node",
         .fitted_runs = 714},
        // DeepSpeed's pipeline engine knows no groups of ranks that share tokens
        // (deepspeed/runtime/pipe/topology.py).
        kMegatronDeepSpeed,
        {.interleaves = false,
         .context_with_pipeline = false,
         .megatrons = true,
         .offload = kCpuAdam}),
    MegatronFsdp(
        {.name = "fsdp",
         .title = "FSDP with fused kernels",
         .source = "Megatron-FSDP: Megatron-Core's kernels, weights sharded over all ranks"}),
    StepsInBackward(FusedStep::kAny, {},
                    OffloadsWeights(OffloadsInputs(WithQuantisedBase(ShardsAlone(Sharded(
                        {.name = "pytorch-fsdp",
                         .title = "PyTorch FSDP",
                         .source = "FSDP2 around modules that are not compiled, as "
                                   "torchtitan"},
                        WithLossBytes(AroundFsdp2(EagerShards(0.96), false), kEagerLossBytes))))))),
    StepsInBackward(
        FusedStep::kWithoutExpertParallel,
        "torchtitan up to 0.2 has optimizer.early_step_in_backward, 0.3.0 has none",
        OffloadsWeights(Torchtitan(
            {.name = "torchtitan",
             .title = "torchtitan",
             .source = "FSDP2 around modules that are not compiled; kernel rate from its "
                       "published runs on A100 and H100",
             .fitted_runs = 5}))),
    ShardsAlone(Sharded(
        {.name = "llm-foundry",
         .alias = "fsdp-llm-foundry",
         .title = "LLM Foundry",
         .source = "FSDP around eager modules; kernel rate from its published runs on A100 and "
                   "H100",
         .fitted_runs = 58},
        WithTransformerEngine(AroundFsdp1(EagerShards(0.96))))),
    WithQuantisedBase(AroundHuggingFace({.name = "deepspeed",
                                         .title = "DeepSpeed with Hugging Face modules",
                                         .source = "DeepSpeed's default configuration"},
                                        0)),
    OffloadsInputs(WithoutEngine(WithQuantisedBase(AroundHuggingFace(
        {.name = "huggingface-trainer",
         .title = "Hugging Face Trainer",
         .source = "as DeepSpeed, whose stages it runs; host time of a trained weight "
                   "from Qwen's published runs on A100",
         .fitted_runs = 18},
        kHeldLogitsLossBytes)))),
    StepsInBackward(FusedStep::kWithoutExpertParallel,
                    "Set optimizer_in_bwd, and neither clip_grad_norm nor gradient accumulation",
                    OffloadsWeights(OffloadsInputs(
                        WithQuantisedBase(WithoutExpertParallel(Sharded(
                            {.name = "torchtune",
                             .title = "torchtune",
                             .source = "FSDP2 around modules that are not compiled, as torchtitan; "
                                       "its configurations compute the loss in chunks"},
                            WithLossBytes(EagerShards(0.96), kChunkedLossBytes)))),
                        "set enable_activation_offloading with enable_activation_checkpointing"))),
    // partition_uniform of internlm/core/parallel/shard.py.
    CutsBy(PartitionMethod::kLayersLast,
           WithRawVocabulary(WithWholeLayers(
               {.name = "internevo",
                .title = "InternEvo",
                .source = "each rank broadcasts its own updated weights (broadcast_params of "
                          "hybrid_zero_optim.py); kernel rate and time of a broadcast from "
                          "its published runs on A100",
                .fitted_runs = 54},
               // It has chunks, but how it cuts them is not modelled.
               kInternEvo, {.interleaves = false}))),
    // build_model of nanotron/models/base.py.
    CutsBy(PartitionMethod::kWeights,
           WithRawVocabulary(WithWholeLayers(
               {.name = "nanotron",
                .title = "nanotron",
                .source = "eager modules with fused norms and FlashAttention-2 that keep gathered "
                          "inputs; kernel rate from its published runs on H100",
                .fitted_runs = 10},
               kNanotron, {.block_recompute = false, .interleaves = false}))),
    WithoutTensorParallel(FreesGradients(OffloadsInputs(SharesImages(
        With(kXTunerDispatchers,
             Sharded({.name = "xtuner",
                      .title = "XTuner",
                      .source = "FSDP2 with fused kernels; sequence-parallel ranks share the "
                                "images (modeling_intern_s1.py, modeling_qwen3_vl.py)"},
                     AroundFsdp2({}, false))))))),
    AutoModel({.name = "nemo-automodel",
               .alias = "automodel",
               .title = "NeMo AutoModel",
               .source = "FSDP2 around TransformerEngine's layers, with DeepEP; host time from its "
                         "published runs of experts on H100",
               .fitted_runs = 10}),
    Unlimited({.name = "unlimited",
               .title = "a trainer without limits",
               .source = "Megatron-Core's defaults"}),
    Generic({.name = "generic",
             .title = "a trainer without a record",
             .source = "PyTorch modules at a kernel rate between those of the records"})};

}  // namespace

std::span<const Trainer> Trainers() { return kTrainers; }

const Trainer& TrainerOf(Framework framework) {
  return *std::find_if(kTrainers.begin(), kTrainers.end(),
                       [&](const Trainer& trainer) { return trainer.framework == framework; });
}

Execution DefaultExecution(const Trainer& trainer, ZeroStage stage, Optimizer optimizer,
                           bool bfloat16) {
  Execution execution = DefaultExecution(trainer, stage);
  const OptimizerRecord& record = RecordOf(optimizer);
  const bool small = record.weight_remainders && record.moment_bytes < kMomentCopies;
  if (!small || !trainer.precision_aware_optimizer) return execution;
  execution.stores_weight_remainders = bfloat16;
  execution.update_bytes_per_parameter = kMomentCopies;
  return execution;
}

const Trainer* FindTrainer(std::string_view name) {
  const auto found = std::find_if(kTrainers.begin(), kTrainers.end(), [&](const Trainer& trainer) {
    return trainer.name == name || (!trainer.alias.empty() && trainer.alias == name);
  });
  return found == kTrainers.end() ? nullptr : &*found;
}

const Trainer& GenericTrainer() { return kTrainers.back(); }

const Execution& DefaultExecution(const Trainer& trainer, ZeroStage stage) {
  if (stage == ZeroStage::kNone && trainer.default_execution_unsharded)
    return *trainer.default_execution_unsharded;
  return stage == ZeroStage::kWeights ? trainer.default_execution_at_zero3
                                      : trainer.default_execution;
}

}  // namespace evenkeel::planner
