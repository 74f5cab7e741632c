// Keys of DeepSpeed's configuration (deepspeed.ai/docs/config-json) and of torchtitan's job
// configuration (torchtitan/config/job_config.py), with their sections.
#include <iterator>

#include "client/cli/from/settings/keys.h"

namespace evenkeel::cli {
namespace {

constexpr KeyRecord kDeepSpeedRead[] = {
    {"bf16.bf16_master_weights_and_grads", Field::kMaster16Bit, "training.optimizer"},
    {"bf16.bf16_optimizer_states", Field::kStates16Bit, "training.optimizer"},
    {"train_batch_size", Field::kGlobalBatch, "training.global_batch_samples"},
    {"train_micro_batch_size_per_gpu", Field::kMicroBatch, "batch_rule.token_cap"},
    {"gradient_accumulation_steps", Field::kAccumulation, "training.global_batch_samples"},
    {"zero_optimization.stage", Field::kZeroStage, "training.zero_stage"},
    {"zero_optimization.overlap_comm", Field::kOverlapGradients,
     "execution.overlap_gradient_reduce"},
    {"zero_optimization.reduce_bucket_size", Field::kBucketValues, "execution.bucket_bytes"},
    {"zero_optimization.allgather_bucket_size", Field::kGatherBucketValues,
     "execution.bucket_bytes"},
    {"bf16.enabled", Field::kBf16, "training.precision"},
    {"bfloat16.enabled", Field::kBf16, "training.precision"},
    {"fp16.enabled", Field::kFp16, "training.precision"},
    {"data_types.grad_accum_dtype", Field::kGradientType, "training.gradient_precision"},
    {"optimizer.type", Field::kOptimizer, "training.optimizer"},
    {"zero_optimization.offload_optimizer.device", Field::kOffloadsOptimizer, "training.offload"},
    {"zero_optimization.offload_optimizer.ratio", Field::kOffloadShare, "training.offload"},
    {"zero_optimization.offload_param.device", Field::kOffloadsWeights, "training.offload"},
    // Names of older releases, of which true is "cpu" (deepspeed/runtime/zero/config.py).
    {"zero_optimization.cpu_offload", Field::kOffloadsOptimizer, "training.offload"},
    {"zero_optimization.cpu_offload_param", Field::kOffloadsWeights, "training.offload"},
    {"zero_optimization.cpu_offload_params", Field::kOffloadsWeights, "training.offload"},
    {"sequence_parallel_size", Field::kContext, "parallelism.context"},
    {"tensor_parallel.autotp_size", Field::kTensor, "parallelism.tensor"},
};

constexpr NotPredicted kDeepSpeedNotPredicted[] = {
    {"data_parallel_size", "data-parallel ranks are those that the other degrees leave"},
    {"zero_optimization.zero_hpz_partition_size", "weights are taken to be gathered from all ranks",
     false, false, "1"},
    {"zero_optimization.zero_quantized_*", "communication is taken to have 16 bits"},
    {"zero_optimization.stage3_max_live_parameters", kGathersLayers, false, false, "1e9"},
    {"zero_optimization.stage3_max_reuse_distance", kGathersLayers, false, false, "1e9"},
    {"zero_optimization.stage3_prefetch_bucket_size", kGathersLayers, false, false, "5e7"},
    {"zero_optimization.stage3_param_persistence_threshold", kGathersLayers, false, false, "1e5"},
    {"zero_optimization.stage3_module_granularity_threshold", kGathersLayers},
    {"zero_optimization.mics_*", "states are taken to be sharded over all ranks"},
    {"activation_checkpointing.cpu_checkpointing", "activations in host memory", true},
    {"activation_checkpointing.partition_activations",
     "activations are taken to be whole on each GPU"},
    {"pipeline.*", "stages are cut in the program"},
    {"communication_data_type", "gradients are taken to be reduced in their own type"},
    {"compression_training.*", "nothing is taken to be compressed"},
    {"data_efficiency.*", "all layers and tokens are taken to train"},
    {"curriculum_learning.*", "the prediction is for the full length"},
    {"elasticity.*", "the number of GPUs is taken to be fixed"},
    {"torch_autocast.*", "taken as bf16"},
    {"fp16.fp16_master_weights_and_grads", kNoFloatCopy, true},
    {"zero_optimization.offload_optimizer.super_offload",
     "updates are taken to run as ZeRO-Offload's"},
};

constexpr const char* kDeepSpeedIrrelevant[] = {
    "steps_per_print", "wall_clock_breakdown", "dump_state", "gradient_clipping",
    "prescale_gradients", "gradient_predivide_factor", "scheduler.*", "optimizer.params.*",
    // runtime/precision_config.py.
    "fp16.auto_cast", "fp16.loss_scale", "fp16.initial_scale_power", "fp16.loss_scale_window",
    "fp16.hysteresis", "fp16.consecutive_hysteresis", "fp16.min_loss_scale",
    "bf16.immediate_grad_update", "bf16.check_grad_overflow", "bf16.check_overflow", "amp.*",
    "tensorboard.*", "wandb.*", "csv_monitor.*", "comet.*", "flops_profiler.*", "comms_logger.*",
    "comms_config.*", "aio.*", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer",
    "zero_optimization.contiguous_gradients", "zero_optimization.cpu_offload_use_pin_memory",
    "zero_optimization.allgather_partitions", "zero_optimization.reduce_scatter",
    "zero_optimization.round_robin_gradients", "zero_optimization.sub_group_size",
    "zero_optimization.stage3_gather_*", "zero_optimization.gather_16bit_*",
    // runtime/zero/offload_config.py.
    "zero_optimization.offload_optimizer.nvme_path",
    "zero_optimization.offload_optimizer.buffer_count",
    "zero_optimization.offload_optimizer.pin_memory",
    "zero_optimization.offload_optimizer.pipeline",
    "zero_optimization.offload_optimizer.pipeline_read",
    "zero_optimization.offload_optimizer.pipeline_write",
    "zero_optimization.offload_optimizer.fast_init",
    "zero_optimization.offload_optimizer.convert_grad_on_cpu",
    "zero_optimization.offload_optimizer.cpuadam_cores_perc",
    "zero_optimization.offload_param.nvme_path", "zero_optimization.offload_param.buffer_count",
    "zero_optimization.offload_param.buffer_size", "zero_optimization.offload_param.max_in_cpu",
    "zero_optimization.offload_param.pin_memory", "zero_optimization.load_from_fp32_weights",
    "zero_optimization.ignore_unused_parameters", "zero_optimization.elastic_checkpoint",
    "activation_checkpointing.contiguous_memory_optimization",
    "activation_checkpointing.number_checkpoints",
    "activation_checkpointing.synchronize_checkpoint_boundary", "activation_checkpointing.profile",
    "checkpoint.*", "seed", "sparse_gradients", "disable_allgather", "autotuning.*", "data_types.*",
    "monitor_config.*"};

constexpr KeyRecord kTorchtitanRead[] = {
    {"model.name", Field::kModelName, "model.name"},
    {"model.flavor", Field::kModelFlavor, "model.name"},
    {"training.local_batch_size", Field::kLocalBatch, "batch_rule.token_cap"},
    {"training.batch_size", Field::kLocalBatch, "batch_rule.token_cap"},
    {"training.global_batch_size", Field::kGlobalBatch, "training.global_batch_samples"},
    {"training.seq_len", Field::kSeqLength, "batch_rule.token_cap"},
    {"training.steps", Field::kTrainSteps, "dataset.histogram.sample_count"},
    {"parallelism.data_parallel_replicate_degree", Field::kDataReplicas, "training.zero_group"},
    {"parallelism.data_parallel_shard_degree", Field::kData, "parallelism.data"},
    // The layout of files before release 0.1.
    {"training.data_parallel_degree", Field::kData, "parallelism.data"},
    {"training.data_parallel_shard_degree", Field::kData, "parallelism.data"},
    {"training.data_parallel_replicate_degree", Field::kDataReplicas, "training.zero_group"},
    {"training.tensor_parallel_degree", Field::kTensor, "parallelism.tensor"},
    {"experimental.context_parallel_degree", Field::kContext, "parallelism.context"},
    {"experimental.context_parallel_rotate_method", Field::kContextExchange,
     "execution.context_exchange"},
    {"experimental.pipeline_parallel_degree", Field::kPipeline, "parallelism.pipeline"},
    {"experimental.pipeline_parallel_schedule", Field::kSchedule, "schedule"},
    {"parallelism.fsdp_reshard_after_forward", Field::kReshard, "training.zero_stage"},
    {"parallelism.tensor_parallel_degree", Field::kTensor, "parallelism.tensor"},
    {"parallelism.context_parallel_degree", Field::kContext, "parallelism.context"},
    {"parallelism.context_parallel_rotate_method", Field::kContextExchange,
     "execution.context_exchange"},
    {"parallelism.pipeline_parallel_degree", Field::kPipeline, "parallelism.pipeline"},
    {"parallelism.pipeline_parallel_schedule", Field::kSchedule, "schedule"},
    {"parallelism.pipeline_parallel_microbatch_size", Field::kPipelineMicroBatch,
     "batch_rule.token_cap"},
    {"parallelism.pipeline_parallel_layers_per_stage", Field::kLayersPerVirtualStage,
     "parallelism.virtual_stages"},
    {"parallelism.expert_parallel_degree", Field::kExpert, "parallelism.expert"},
    {"parallelism.expert_tensor_parallel_degree", Field::kExpertTensor,
     "execution.expert_tensor_parallel"},
    {"parallelism.enable_sequence_parallel", Field::kSequenceParallel,
     "execution.sequence_parallel"},
    {"parallelism.enable_async_tensor_parallel", Field::kOverlapTensor, "execution.overlap_tensor"},
    {"experimental.enable_async_tensor_parallel", Field::kOverlapTensor,
     "execution.overlap_tensor"},
    {"activation_checkpoint.mode", Field::kRecompute, "stages.layers.recomputed"},
    {"activation_checkpoint.early_stop", Field::kEarlyStop,
     "training.execution.stops_recompute_early"},
    {"activation_checkpoint.selective_ac_option", Field::kRecomputeMethod,
     "stages.layers.recomputed"},
    {"optimizer.name", Field::kOptimizer, "training.optimizer"},
    {"optimizer.implementation", Field::kOptimizerKernel, "execution.update_parameter_bytes"},
    {"parallelism.pipeline_parallel_first_stage_less_layers", Field::kEmbeddingLayers,
     "stages.layers"},
    {"parallelism.pipeline_parallel_last_stage_less_layers", Field::kHeadLayers, "stages.layers"},
    {"training.dtype", Field::kWeightType, "training.optimizer"},
    {"model.converters", Field::kConverters, "training.precision"},
    {"float8.recipe_name", Field::kFp8Recipe, "training.precision"},
    {"quantize.linear.float8.recipe_name", Field::kFp8Recipe, "training.precision"},
    {"compile.enable", Field::kCompile, "execution.fused_kernels"},
    {"training.compile", Field::kCompile, "execution.fused_kernels"},  // before release 0.2
    {"compile.components", Field::kCompiledParts, "execution.loss_logit_bytes"},
    {"training.enable_cpu_offload", Field::kOffloadsWeights, "training.offload"},
    {"training.deterministic", Field::kDeterministic, "execution.deterministic"},
    {"debug.deterministic", Field::kDeterministic, "execution.deterministic"},
    {"optimizer.early_step_in_backward", Field::kFusedStep, "training.fused_step"},
};

constexpr char kAllButHead[] = "all linear layers but the head are taken to be quantised";
constexpr char kGathersIn16Bit[] = "weights are taken to be gathered in 16 bits";
constexpr char kMxProducts[] = "products are taken to be MXFP8, if model.converters has mx";
constexpr char kEmulated[] = "products are taken to run in 8 bits";
constexpr char kExpertsToo[] = "experts are taken to multiply in the format of linear layers";
constexpr char kTaken[] = "stages are taken to be cut as without it";

constexpr NotPredicted kTorchtitanNotPredicted[] = {
    {"model.norm_type", "norms are taken to be RMSNorm in kernels of their own", false, false,
     "rmsnorm"},  // before release 0.1
    {"training.mixed_precision_param", "weights are taken to be gathered in bf16"},
    {"training.mixed_precision_reduce",
     "gradients are taken to be reduced in float32, which takes longer; they are held so anyway",
     false, false, "float32"},
    {"parallelism.enable_compiled_autograd", "taken as off"},
    {"experimental.enable_compiled_autograd", "taken as off"},
    {"parallelism.module_fqns_per_model_part", kTaken},
    {"parallelism.pipeline_parallel_split_points", kTaken},
    {"experimental.pipeline_parallel_split_points", kTaken},
    {"experimental.pipeline_parallel_microbatches", "a micro-batch is taken to be one sequence"},
    // model.converters says whether these have any effect.
    {"float8.enable_float8_linear", "products are taken to have 16 bits: --precision fp8"},
    {"float8.filter_fqns", kAllButHead, false, false, "output"},
    {"quantize.linear.float8.filter_fqns", kAllButHead, false, false, "output"},
    {"quantize.dense.float8.filter_fqns", kAllButHead, false, false, "output"},
    {"float8.enable_fsdp_float8_all_gather", kGathersIn16Bit},
    {"quantize.linear.float8.enable_fsdp_float8_all_gather", kGathersIn16Bit},
    {"quantize.dense.float8.enable_fsdp_float8_all_gather", kGathersIn16Bit},
    {"float8.emulate", kEmulated},
    {"quantize.linear.float8.emulate", kEmulated},
    {"float8.moe_fqns*", kExpertsToo},
    {"quantize.moe.*", kExpertsToo},  // beside quantize.dense, for a while
    {"mx.*", kMxProducts},
    {"quantize.linear.mx.*", kMxProducts},
    {"quantize.grouped_mm.*", kExpertsToo},
};

constexpr const char* kTorchtitanIrrelevant[] = {
    "job.*", "profiling.*", "metrics.*", "comm.*", "checkpoint.*", "validation.*", "lr_scheduler.*",
    "optimizer.lr", "optimizer.beta1", "optimizer.beta2", "optimizer.eps", "optimizer.weight_decay",
    "optimizer.fused", "training.dataset*", "training.max_norm", "training.warmup_steps",
    "training.seed", "training.gc_*", "training.debug*", "training.disable_cuda_graphs",
    "model.hf_assets_path", "model.tokenizer_path", "model.print_after_conversion",
    "parallelism.disable_loss_parallel", "parallelism.pipeline_parallel_schedule_csv",
    "compile.backend", "memory_estimation.*", "fault_tolerance.*", "experimental.custom_import",
    "experimental.custom_args_module", "experimental.custom_model_path",
    "experimental.pipeline_parallel_schedule_csv", "debug.*",
    "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns",
    // Only with a mode of its own, which is refused.
    "activation_checkpoint.memory_budget",
    // What is left of quantisation: how scales and 8-bit weights are computed.
    "float8.precompute_float8_dynamic_scale_for_fsdp", "float8.force_recompute_fp8_weight_in_bwd",
    "float8.scaling_type_input", "float8.scaling_type_weight", "float8.scaling_type_grad_output",
    "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp",
    "quantize.dense.float8.precompute_float8_dynamic_scale_for_fsdp"};

}  // namespace

const KeyTables& DeepSpeedKeys() {
  static const auto* const kTables = new KeyTables{
      .read = {std::begin(kDeepSpeedRead), std::end(kDeepSpeedRead)},
      .not_predicted = {std::begin(kDeepSpeedNotPredicted), std::end(kDeepSpeedNotPredicted)},
      .irrelevant = {std::begin(kDeepSpeedIrrelevant), std::end(kDeepSpeedIrrelevant)}};
  return *kTables;
}

const KeyTables& TorchtitanKeys() {
  static const auto* const kTables = new KeyTables{
      .read = {std::begin(kTorchtitanRead), std::end(kTorchtitanRead)},
      .not_predicted = {std::begin(kTorchtitanNotPredicted), std::end(kTorchtitanNotPredicted)},
      .irrelevant = {std::begin(kTorchtitanIrrelevant), std::end(kTorchtitanIrrelevant)}};
  return *kTables;
}

}  // namespace evenkeel::cli
