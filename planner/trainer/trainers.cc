#include "planner/trainer/trainers.h"

namespace evenkeel::planner {
namespace {

// Megatron-Core's recommended flags, which are the defaults of Execution.
constexpr Trainer kMegatronRecord = {.name = "Megatron"};

// Megatron-FSDP and XTuner: the same kernels, with weights sharded over all ranks.
constexpr Trainer kFsdpRecord = {.name = "FSDP",
                                 .pipeline = false,
                                 .always_shards_weights = true,
                                 .zero_stage = ZeroStage::kWeights};

// DeepSpeed around eager Hugging Face modules. The host time is fitted on LoRA runs of Qwen on one
// node. Bucket sizes are those of DeepSpeed's configuration
// for 16-bit values: reduce_bucket_size and allgather_bucket_size are 5e8 each. Stages 1 and 2
// reduce into a second buffer and do not overlap by default.
constexpr Execution kDeepSpeedStage3 = {.attention = AttentionKernel::kFlash2,
                                        .fused_loss = false,
                                        .fused_kernels = false,
                                        .bucket_bytes = 1'000'000'000,
                                        .fused_weight_gradients = false,
                                        .host_launch_ns = 70e3};
constexpr Execution kDeepSpeed = {.attention = AttentionKernel::kFlash2,
                                  .fused_loss = false,
                                  .overlap_gradient_reduce = false,
                                  .overlap_weight_gather = false,
                                  .fused_kernels = false,
                                  .bucket_bytes = 3'000'000'000,
                                  .fused_weight_gradients = false,
                                  .host_launch_ns = 70e3};
constexpr Trainer kDeepSpeedRecord = {.name = "DeepSpeed with Hugging Face modules",
                                      .tensor_parallel = false,
                                      .pipeline = false,
                                      .selective_recompute = false,
                                      .usual = kDeepSpeed,
                                      .usual_sharding_weights = kDeepSpeedStage3};

}  // namespace

const Trainer& TrainerOf(Framework framework) {
  switch (framework) {
    case Framework::kFsdp:
      return kFsdpRecord;
    case Framework::kDeepSpeed:
      return kDeepSpeedRecord;
    case Framework::kMegatron:
      break;
  }
  return kMegatronRecord;
}

const Execution& UsualExecution(const Trainer& trainer, ZeroStage stage) {
  return stage == ZeroStage::kWeights ? trainer.usual_sharding_weights : trainer.usual;
}

}  // namespace evenkeel::planner
