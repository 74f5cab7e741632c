// The YAML of `accelerate launch --config_file`, beside the arguments of a Trainer. Sources:
// accelerate/utils/launch.py and dataclasses.py (1.15).
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <iterator>
#include <utility>

#include "client/cli/exit_codes.h"
#include "client/cli/from/hugging_face.h"
#include "client/cli/from/keys.h"

namespace evenkeel::cli {
namespace {

constexpr KeyRecord kLaunchRead[] = {
    {"num_processes", Field::kProcesses, "cluster.pools.gpu_count"},
    {"num_machines", Field::kNodes, "cluster.pools.gpus_per_node"},
    {"mixed_precision", Field::kMixedPrecision, "training.precision"},
    {"fsdp_config.version", Field::kFsdpVersion, "training.zero_stage"},
    {"fsdp_config.sharding_strategy", Field::kReshard, "training.zero_stage"},
    {"fsdp_config.reshard_after_forward", Field::kReshard, "training.zero_stage"},
    {"fsdp_config.auto_wrap_policy", Field::kFsdpWrap, "training.zero_stage"},
    {"fsdp_config.offload_params", Field::kFsdpOffload, "training.offload"},
    {"fsdp_config.activation_checkpointing", Field::kFsdpRecompute, "stages.layers.recomputed"},
    {"deepspeed_config.zero_stage", Field::kZeroStage, "training.zero_stage"},
    {"deepspeed_config.offload_optimizer_device", Field::kOffloadsOptimizer, "training.offload"},
    {"deepspeed_config.offload_param_device", Field::kOffloadsWeights, "training.offload"},
    {"deepspeed_config.gradient_accumulation_steps", Field::kAccumulation,
     "training.global_batch_samples"},
};

constexpr NotPredicted kLaunchNotPredicted[] = {
    {"fsdp_config.activation_checkpointing_offload", "activations in host memory", true},
    {"fsdp_config.min_num_params", "weights are taken to be gathered layer by layer"},
    {"fsdp_config.ignored_modules", "all modules are taken to be sharded"},
    {"fsdp_config.forward_prefetch", "gathers are taken to overlap as in version 2 of FSDP"},
    {"dynamo_config.*", "modules are taken to be eager"},
    {"dynamo_backend", "modules are taken to be eager"},
    {"fp8_config.*", "products are taken to have 16 bits: --precision fp8"},
    {"parallelism_config.*", "parallelism of accelerate's ParallelismConfig", true},
    {"megatron_lm_config.*", "Megatron-LM under accelerate: give its arguments", true},
    {"use_cpu", "training without GPUs", true},
};

constexpr const char* kLaunchIrrelevant[] = {"compute_environment",
                                             "debug",
                                             "downcast_bf16",
                                             "enable_cpu_affinity",
                                             "gpu_ids",
                                             "machine_rank",
                                             "main_*",
                                             "rdzv_*",
                                             "same_network",
                                             "tpu_*",
                                             "ipex_config*",
                                             "mpirun_config*",
                                             "commands",
                                             "command_file",
                                             "fsdp_config.backward_prefetch*",
                                             "fsdp_config.state_dict_type",
                                             "fsdp_config.sync_module_states",
                                             "fsdp_config.use_orig_params",
                                             "fsdp_config.cpu_ram_efficient_loading",
                                             "fsdp_config.transformer_layer_cls_to_wrap",
                                             "deepspeed_config.gradient_clipping",
                                             "deepspeed_config.zero3_*",
                                             "deepspeed_config.deepspeed_*"};

const KeyTables& LaunchKeys() {
  static const auto* const kTables = new KeyTables{
      .read = {std::begin(kLaunchRead), std::end(kLaunchRead)},
      .not_predicted = {std::begin(kLaunchNotPredicted), std::end(kLaunchNotPredicted)},
      .irrelevant = {std::begin(kLaunchIrrelevant), std::end(kLaunchIrrelevant)}};
  return *kTables;
}

// FSDP_SHARDING_STRATEGY of accelerate/utils/constants.py; files give its numbers too.
constexpr const char* kNumbered[] = {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                     "hybrid_shard_zero2"};

// Turns distributed_type on. Others than these two run plain data parallelism, or no GPUs.
void SetEngine(const Setting& setting, UserConfig* config) {
  const std::string& type = setting.values.front();
  config->used.push_back(setting);
  config->meanings.emplace_back("training.zero_stage");
  if (type == "FSDP") {
    config->fields[Field::kFsdp] = {setting.key, {"true"}, setting.where};
  } else if (type == "DEEPSPEED") {
    config->uses_deepspeed = true;
  } else if (type != "MULTI_GPU" && type != "NO") {
    throw CommandError(ExitCode::kBadInput, Describe(setting) +
                                                ": not yet: accepted are FSDP, DEEPSPEED, "
                                                "MULTI_GPU, NO");
  }
}

}  // namespace

bool IsAccelerate(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    if (setting.key == "distributed_type") return true;
  return false;
}

void SortAccelerate(std::vector<Setting> settings, const std::string& path, UserConfig* config) {
  config->format = ConfigFormat::kHuggingFace;
  config->files[RunFile::kLaunch] = FileNameOf(path);
  // Version 1 unless said. It alone reads sharding_strategy.
  bool second = false;
  for (Setting& setting : settings) {
    if (absl::StartsWith(setting.key, "fsdp_config.fsdp_")) setting.key.erase(12, 5);
    second = second || (setting.key == "fsdp_config.version" &&
                        setting.values == std::vector<std::string>{"2"});
  }
  for (Setting& setting : settings) {
    const std::string name = setting.key;
    if (setting.values.empty() || setting.values.front().empty()) {
      ++config->irrelevant;
    } else if (name == "distributed_type") {
      SetEngine(setting, config);
    } else if (name == "deepspeed_config.deepspeed_config_file") {
      SortEngine(NamedFile(setting, path), config);
    } else if (name == "fsdp_config.sharding_strategy" && second) {
      ++config->irrelevant;
    } else {
      int number = 0;
      if (name == "fsdp_config.sharding_strategy" &&
          absl::SimpleAtoi(setting.values.front(), &number) && number >= 1 && number <= 5)
        setting.values.front() = kNumbered[number - 1];
      Sort(LaunchKeys(), name, std::move(setting), config);
    }
  }
  config->engine_optimizer = config->Has(Field::kOptimizer);
}

}  // namespace evenkeel::cli
