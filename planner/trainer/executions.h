// The defaults of the trainers with a record, which trainers.cc puts together.
#ifndef EVENKEEL_PLANNER_TRAINER_EXECUTIONS_H_
#define EVENKEEL_PLANNER_TRAINER_EXECUTIONS_H_

#include "planner/trainer/execution.h"

namespace evenkeel::planner {

// Bytes per gradient that the step of a sharded optimizer holds in addition to the states: a flat
// copy in 16 bits and one in fp32 (step() of deepspeed/runtime/zero/stage_1_and_2.py).
inline constexpr double kFlatGradients = 2 + 4;
// Bytes per gradient of a flat fp32 copy and of AdamW that is not fused, which holds a square root
// and a quotient of each flat tensor (_step() of InternEvo's hybrid_zero_optim.py;
// compatible_adamw.py fuses it from PyTorch 2.1 on; torch/optim/adamw.py of PyTorch 1.13).
inline constexpr double kFlatAdam = 4 + 4 + 4;

// Host time of an operation of plain PyTorch modules, from Qwen's published LoRA runs of 1.8
// billion parameters. TransformerEngine's and Megatron's modules take more.
inline constexpr double kEagerLaunchNs = 50e3;

// Launches of a redistribution of DTensor with the modules around it, fitted on runs of torchtitan
// and KempnerForge with 2 to 8 tensor-parallel ranks.
inline constexpr int64_t kDTensorLaunches = 12;

// PyTorch modules without any fusion.
inline constexpr Execution kEager = {.attention = AttentionKernel::kFlash2,
                                     .fused_loss = false,
                                     .fused_kernels = false,
                                     .fused_weight_gradients = false,
                                     .host_launch_ns = kEagerLaunchNs,
                                     .collective_launches = kDTensorLaunches,
                                     .copies_reduced_gradients = true};

// Bytes per logit of PyTorch's cross entropy at its peak, in the backward pass: the fp32 softmax,
// its gradient, and that of the logits (tests/frameworks/check_loss_memory.py measures it). Hugging
// Face's outputs hold the 16-bit logits too.
inline constexpr double kEagerLossBytes = 4 + 4 + 4;
inline constexpr double kHeldLogitsLossBytes = kEagerLossBytes + 2;

// Two moments in fp32 for each parameter, during the update of moments with fewer bits.
inline constexpr double kMomentCopies = 4 + 4;

// Chunks of torchtitan's ChunkedCELoss (torchtitan/components/loss.py), which runs the head, the
// loss and their backward passes chunk by chunk.
inline constexpr double kTitanLossChunks = 8;

// Bytes per logit of torchtune's losses in chunks (CEWithChunkedOutputLoss, LinearCrossEntropyLoss
// of torchtune/modules/loss), which its recipes' configurations have: the 16-bit logits and the
// fp32 softmax of all chunks. The temporary memory of one chunk, an eighth of all, is ignored.
inline constexpr double kChunkedLossBytes = 2 + 4;

// Bytes per logit of nanotron's cross entropy at its peak, in the forward pass: the fp32 logits,
// and their distance to the maximum, which becomes the softmax and the gradient in place
// (_ShardedCrossEntropy of nanotron/parallel/tensor_parallel/functional.py).
inline constexpr double kShardedLossBytes = 4 + 4;

// FSDP's mixed precision: weights are fp32 shards. A reduction gives each shard a gradient of its
// own (foreach_reduce of torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py), which
// zero_grad(set_to_none=True) frees: train_step of torchtitan/train.py, torchtune's
// recipes/full_finetune_distributed.py, _train_microbatches of Composer's trainer.py (LLM Foundry).
// foreach_reduce allocates them on the stream of reductions; FSDP1 on its post-backward stream
// (_reduce_grad of torch/distributed/fsdp/_runtime_utils.py).
// Megatron-FSDP's gradients are in a buffer that is there from the start
// (param_and_grad_buffer.py).
constexpr Execution EagerShards(double kernel_rate) {
  Execution execution = kEager;
  execution.kernel_rate = kernel_rate;
  execution.casts_master_weights = true;
  execution.keeps_quantised_inputs = false;  // torchao quantises 16-bit inputs again
  execution.frees_gradients = execution.pools_gradients = true;
  execution.stops_recompute_early = true;
  return execution;
}

// FSDP1 gathers each matrix of PEFT's adapters on its own (fsdp_auto_wrap_policy of
// peft/utils/other.py, which Hugging Face's Trainer sets): fitted on seven runs of
// fms-acceleration.
inline constexpr double kAdapterGatherNs = 0.33e6;

// Bytes of memory that a collective of NCCL moves per value of two bytes: an all-gather writes the
// values that it receives and reads those that it sends on. A reduce-scatter also reads the values
// that it adds to.
inline constexpr double kGatherTraffic = 2 + 2, kReduceTraffic = 2 + 2 + 2;

// Returns the defaults of a trainer around FSDP2. It copies the gathered buffer to each weight
// (foreach_all_gather_copy_out of _fsdp_collectives.py), and gradients to the buffer that it
// reduces (foreach_reduce_scatter_copy_in).
constexpr Execution AroundFsdp2(Execution execution, bool reduces_fp32) {
  execution.reduces_fp32 = reduces_fp32;
  execution.gather_traffic_bytes = kGatherTraffic + 4;
  execution.reduce_traffic_bytes = reduces_fp32 ? 2 * kReduceTraffic + 6 : kReduceTraffic + 4;
  return execution;
}

// Returns the defaults of a trainer around FSDP1, whose weights are views of the gathered buffer.
// It joins their gradients in one tensor and divides it (_flat_param.py, _reduce_grad).
constexpr Execution AroundFsdp1(Execution execution) {
  execution.gather_traffic_bytes = kGatherTraffic;
  execution.reduce_traffic_bytes = kReduceTraffic + 4 + 4;
  return execution;
}

constexpr Execution WithLossBytes(Execution execution, double per_logit) {
  execution.loss_bytes_per_logit = per_logit;
  return execution;
}

// Bucket sizes are those of DeepSpeed's configuration for 16-bit values: reduce_bucket_size and
// allgather_bucket_size are 5e8 each. Stages 1 and 2 reduce into a second buffer and do not overlap
// by default. The hook of a weight is fitted on the runs of `huggingface-trainer` that train all of
// them: it copies each gradient to a bucket. Stages 1 and 2 flatten gradients when the backward
// pass ends, and drop them in the step (averaged_gradients of
// deepspeed/runtime/zero/stage_1_and_2.py); stage 3 has a buffer for its shards from the start
// (grad_partitions_flat_buffer of stage3.py).
constexpr Execution DeepSpeed(bool shards_weights, double loss_bytes) {
  Execution execution = kEager;
  execution.loss_bytes_per_logit = loss_bytes;
  execution.overlap_gradient_reduce = execution.overlap_weight_gather = shards_weights;
  execution.bucket_bytes = shards_weights ? 1'000'000'000 : 3'000'000'000;
  execution.weight_hook_ns = 1.2e6;
  execution.copies_reduced_gradients = false;
  execution.stops_recompute_early = true;
  // Its hooks release the weights that a forward pass used, also if the pass is repeated
  // (post_sub_module_forward_function of runtime/zero/parameter_offload.py; pull request 8130).
  execution.gathers_to_recompute = shards_weights;
  if (shards_weights) {
    // Qwen's LoRA runs of 72 billion parameters show this traffic. No run shows the traffic of
    // reductions.
    execution.gather_traffic_bytes = kGatherTraffic;
  } else {
    execution.update_bytes_per_parameter = kFlatGradients;
    execution.frees_gradients = true;
  }
  return execution;
}

// The optimizer is DeepSpeed's, with the bucket sizes of DeepSpeed() above. vTrain's runs show no
// more time for an all-reduce than for other operations.
inline constexpr Execution kMegatronDeepSpeed = {.sequence_parallel = false,
                                                 .fused_loss = false,
                                                 .bucket_bytes = 3'000'000'000,
                                                 .collective_launches = 1,
                                                 .update_bytes_per_parameter = kFlatGradients};
inline constexpr Execution kInternEvo = {.fused_loss = false,
                                         .overlap_weight_gather = false,
                                         .kernel_rate = 0.8,
                                         .update_bytes_per_parameter = kFlatAdam,
                                         .gather_ns_per_rank = 2.7e6};
inline constexpr Execution kNanotron = {.attention = AttentionKernel::kFlash2,
                                        .fused_loss = false,
                                        .fused_kernels = false,
                                        .fused_norms = true,
                                        .fused_weight_gradients = false,
                                        .host_launch_ns = kEagerLaunchNs,
                                        .kernel_rate = 0.88,
                                        .loss_bytes_per_logit = kShardedLossBytes,
                                        .keeps_gathered_inputs = true};
// FSDP2 around layers of TransformerEngine, whose loss is PyTorch's (examples/benchmark/configs and
// nemo_automodel/components of NVIDIA-NeMo/Automodel) and gets logits in fp32 (output_dtype of
// MixedPrecisionPolicy), while the 16-bit ones are held. Its published runs, all with experts, show
// no time of the host.
inline constexpr Execution kAutoModel = AroundFsdp2({.fused_loss = false,
                                                     .fused_weight_gradients = false,
                                                     .host_launch_ns = 0,
                                                     .loss_bytes_per_logit = kHeldLogitsLossBytes,
                                                     .stops_recompute_early = true,
                                                     .frees_gradients = true,
                                                     .copies_reduced_gradients = true,
                                                     .pools_gradients = true},
                                                    /*reduces_fp32=*/true);

// Between the trainers above: PyTorch modules with the best kernels for attention and fused norms.
// Its host time and kernel rate are between theirs, too.
inline constexpr Execution kGeneric = {.fused_loss = false,
                                       .fused_kernels = false,
                                       .fused_norms = true,
                                       .host_launch_ns = 53e3,
                                       .collective_launches = 1,
                                       .kernel_rate = 0.91,
                                       .loss_bytes_per_logit = kEagerLossBytes,
                                       .update_bytes_per_parameter = kFlatGradients,
                                       .copies_reduced_gradients = true};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_EXECUTIONS_H_
