#include "planner/launch/launch_record.h"

#include <algorithm>

#include "planner/launch/emitters.h"

namespace evenkeel::planner {
namespace {

constexpr std::array kRecords = {
    LaunchRecord{.framework = LaunchFramework::kMegatron,
                 .emit = EmitMegatron,
                 .trainers = {"megatron-core", "megatron-bridge", "nemo", "fsdp"},
                 .megatron_arguments = true},
    LaunchRecord{.framework = LaunchFramework::kFlagScale,
                 .emit = EmitFlagScale,
                 .trainers = {"megatron-core", "megatron-bridge", "nemo", "fsdp"},
                 .megatron_arguments = true},
    LaunchRecord{.framework = LaunchFramework::kDeepSpeed,
                 .emit = EmitDeepSpeed,
                 .trainers = {"megatron-deepspeed", "deepspeed", "huggingface-trainer"},
                 .without_pipeline = "deepspeed",
                 .offloads_weights = true,
                 .sorting = "train_sampling_strategy is \"group_by_length\" (before 5.0, "
                            "group_by_length is True)"},
    LaunchRecord{.framework = LaunchFramework::kTorchtitan,
                 .emit = EmitTorchtitan,
                 .trainers = {"torchtitan", "pytorch-fsdp", "torchtune"},
                 .offloads_weights = true,
                 .zero_groups = true,
                 .deterministic = "set deterministic in [debug], or in [training] up to 0.2",
                 .before_dispatcher = "give moe_comm_backend=",
                 .after_dispatcher = " to the model_registry() of the base configuration"},
    LaunchRecord{.framework = LaunchFramework::kXTuner,
                 .emit = EmitXTuner,
                 .trainers = {"xtuner"},
                 .activation_variable = "XTUNER_ACTIVATION_OFFLOAD",
                 .before_dispatcher = "set dispatcher=",
                 .after_dispatcher = " in the MoEConfig of model_cfg"},
    LaunchRecord{
        .framework = LaunchFramework::kFsdp,
        .emit = EmitFsdp,
        .trainers = {"pytorch-fsdp", "fsdp", "torchtitan", "torchtune", "llm-foundry", "xtuner"},
        .offloads_weights = true,
        .fused_step = "call step_in_backward() after shard(), and do not clip gradients"},
};

}  // namespace

const LaunchRecord& RecordOf(LaunchFramework framework) {
  return *std::find_if(kRecords.begin(), kRecords.end(), [framework](const LaunchRecord& record) {
    return record.framework == framework;
  });
}

}  // namespace evenkeel::planner
