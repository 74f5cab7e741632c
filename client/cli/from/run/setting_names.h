// What trainers call the settings that advice is about.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_SETTING_NAMES_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_SETTING_NAMES_H_

#include <cstdint>
#include <string>

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "evenkeel/v1/stage.pb.h"

namespace evenkeel::cli {

// What trainers call a setting, with {} for its value. Without a name, the trainer has none.
struct SettingNames {
  const char *megatron, *torchtitan, *deepspeed, *hugging_face;
  const char* fsdp;                  // of Hugging Face's arguments
  const char* accelerate = nullptr;  // of accelerate's file, for its FSDP
};
// Returns what the run's trainer calls the setting, with its value.
std::string SettingName(const SettingNames& names, const UserRun& run, ConfigFormat format,
                        int64_t value = 0);

inline constexpr SettingNames kExpertNames = {
    "--expert-model-parallel-size {}", "parallelism.expert_parallel_degree = {}", "", "", ""};
inline constexpr SettingNames kVirtualStageNames = {"--num-virtual-stages-per-pipeline-rank {}", "",
                                                    "", "", ""};
inline constexpr SettingNames kMicroBatchNames = {
    "--micro-batch-size {}", "training.local_batch_size = {}",
    "\"train_micro_batch_size_per_gpu\": {}", "\"per_device_train_batch_size\": {}",
    "\"per_device_train_batch_size\": {}"};
inline constexpr SettingNames kNoRecomputeNames = {
    "without --recompute-*",
    "activation_checkpoint.mode = \"none\"",
    "no gradient checkpointing in the program",
    "\"gradient_checkpointing\": false",
    "\"gradient_checkpointing\": false, and in \"fsdp_config\" no \"activation_checkpointing\"",
    "\"gradient_checkpointing\": false, and fsdp_activation_checkpointing: false"};
inline constexpr SettingNames kNoOffloadNames = {
    "without --optimizer-cpu-offload, --cpu-offloading-num-layers and "
    "--fine-grained-activation-offloading",
    "training.enable_cpu_offload = false",
    "\"zero_optimization\" without \"offload_optimizer\" and \"offload_param\"",
    "in \"deepspeed\", \"zero_optimization\" without \"offload_optimizer\" and \"offload_param\"",
    "\"fsdp\" without offload, and in \"fsdp_config\" no \"cpu_offload\"",
    "fsdp_offload_params: false"};
inline constexpr SettingNames kFullRecomputeNames = {
    "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
    "activation_checkpoint.mode = \"full\"",
    "gradient checkpointing in the program",
    "\"gradient_checkpointing\": true",
    "in \"fsdp_config\", \"activation_checkpointing\": true",
    "fsdp_activation_checkpointing: true"};

struct DegreeRecord {
  const char* title;
  int32_t (v1::Parallelism::*get)() const;
  void (v1::Parallelism::*set)(int32_t);
  SettingNames names;
};
inline constexpr DegreeRecord kDegrees[] = {
    {"tensor parallelism",
     &v1::Parallelism::tensor,
     &v1::Parallelism::set_tensor,
     {"--tensor-model-parallel-size {}", "parallelism.tensor_parallel_degree = {}", "", "", ""}},
    {"pipeline stages",
     &v1::Parallelism::pipeline,
     &v1::Parallelism::set_pipeline,
     {"--pipeline-model-parallel-size {}", "parallelism.pipeline_parallel_degree = {}", "", "",
      ""}},
    {"context parallelism",
     &v1::Parallelism::context,
     &v1::Parallelism::set_context,
     {"--context-parallel-size {}", "parallelism.context_parallel_degree = {}", "", "", ""}}};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_SETTING_NAMES_H_
