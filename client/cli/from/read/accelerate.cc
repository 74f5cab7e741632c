// Sources: accelerate/commands/launch.py, utils/launch.py and utils/dataclasses.py (1.15).
#include "client/cli/from/read/accelerate.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <algorithm>
#include <iterator>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"
#include "client/cli/from/read/hugging_face.h"
#include "client/cli/from/read/named_files.h"
#include "client/cli/from/read/trl.h"
#include "client/cli/from/settings/keys.h"

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
    {"fsdp_config.min_num_params", kGathersLayers},
    {"fsdp_config.ignored_modules", "all modules are taken to be sharded"},
    {"fsdp_config.forward_prefetch", "gathers are taken to overlap as in version 2 of FSDP"},
    {"dynamo_config.*", "modules are taken to be eager; torch_compile fuses their kernels"},
    {"dynamo_backend", "modules are taken to be eager; torch_compile fuses their kernels"},
    {"fp8_config.*", "products are taken to have 16 bits: --precision fp8"},
    {"parallelism_config.*", "parallelism of accelerate's ParallelismConfig", true},
    {"use_cpu", "training without GPUs", true},
    {"cpu", "training without GPUs", true},
    {"ipex", "training without GPUs", true},
    {"use_xpu", "training without GPUs that it knows", true},
    {"tpu", "training without GPUs that it knows", true},
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
                                             "mpirun_*",
                                             "commands",
                                             "command_file",
                                             "use_parallelism_config",
                                             "use_fsdp",
                                             "use_deepspeed",
                                             "use_megatron_lm",
                                             "multi_gpu",
                                             "megatron_lm_config.*",
                                             "num_cpu_threads_per_process",
                                             "quiet",
                                             "module",
                                             "no_python",
                                             "role",
                                             "tee",
                                             "log_dir",
                                             "max_restarts",
                                             "monitor_interval",
                                             "aws_*",
                                             "no_tpu_cluster",
                                             "vm",
                                             "env",
                                             "fsdp_config.backward_prefetch*",
                                             "fsdp_config.state_dict_type",
                                             "fsdp_config.sync_module_states",
                                             "fsdp_config.use_orig_params",
                                             "fsdp_config.cpu_ram_efficient_loading",
                                             "fsdp_config.transformer_layer_cls_to_wrap",
                                             "deepspeed_config.gradient_clipping",
                                             "deepspeed_config.offload_optimizer_nvme_path",
                                             "deepspeed_config.offload_param_nvme_path",
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

// Options that are keys of a section of the file under another name than "SECTION_...".
constexpr const char* kEngineOptions[] = {"zero_stage",
                                          "offload_optimizer_device",
                                          "offload_param_device",
                                          "offload_optimizer_nvme_path",
                                          "offload_param_nvme_path",
                                          "gradient_accumulation_steps",
                                          "gradient_clipping",
                                          "zero3_init_flag",
                                          "zero3_save_16bit_model"};

struct LaunchSection {
  const char *prefix, *section;
};
constexpr LaunchSection kSections[] = {{"fsdp_", "fsdp_config."},
                                       {"deepspeed_", "deepspeed_config."},
                                       {"parallelism_config_", "parallelism_config."},
                                       {"megatron_lm_", "megatron_lm_config."},
                                       {"fp8_", "fp8_config."},
                                       {"dynamo_", "dynamo_config."}};

constexpr char kEngineFile[] = "deepspeed_config.deepspeed_config_file";

// Returns the key of the file for an option.
std::string LaunchKey(const std::string& option) {
  if (std::count(std::begin(kEngineOptions), std::end(kEngineOptions), option) > 0)
    return "deepspeed_config." + option;
  for (const LaunchSection& record : kSections)
    if (absl::StartsWith(option, record.prefix)) return record.section + option;
  return option;
}

// Switches in place of distributed_type.
struct EngineSwitch {
  const char *option, *type;
};
constexpr EngineSwitch kEngineSwitches[] = {{"use_fsdp", "FSDP"},
                                            {"use_deepspeed", "DEEPSPEED"},
                                            {"multi_gpu", "MULTI_GPU"},
                                            {"use_megatron_lm", "MEGATRON_LM"}};

// Returns the distributed_type that a setting names, or nothing.
std::string EngineOf(const Setting& setting) {
  if (setting.values.empty()) return "";
  if (setting.key == "distributed_type") return setting.values.front();
  for (const EngineSwitch& record : kEngineSwitches)
    if (setting.key == record.option && !absl::EqualsIgnoreCase(setting.values.front(), "false"))
      return record.type;
  return "";
}

// Turns distributed_type on. Others than these two run plain data parallelism, or no GPUs.
void SetEngine(const Setting& setting, const std::string& type, UserConfig* config) {
  config->used.push_back(setting);
  config->meanings.emplace_back("training.zero_stage");
  if (type == "FSDP") {
    config->fields[Field::kFsdp] = setting;
  } else if (type == "DEEPSPEED") {
    config->uses_deepspeed = true;
  } else if (type == "MEGATRON_LM") {
    throw CommandError(
        ExitCode::kBadInput,
        Describe(setting) + ": not yet: Megatron-LM under accelerate: give its arguments");
  } else if (type != "MULTI_GPU" && type != "NO") {
    throw CommandError(ExitCode::kBadInput, Describe(setting) +
                                                ": not yet: accepted are FSDP, DEEPSPEED, "
                                                "MULTI_GPU, NO");
  }
}

bool IsOfSection(const Setting& setting) { return setting.key.find('.') != std::string::npos; }

// Files a setting that is neither the engine nor of an engine that is off.
void SortLaunchSetting(Setting setting, const std::string& path, bool second, UserConfig* config) {
  const std::string name = setting.key;
  if (name == kEngineFile) {
    SortEngine(NamedFile(setting, path), config);
    config->engine_file = true;
    return;
  }
  // One rank is no parallelism, whatever its kind. Only version 1 of FSDP reads sharding_strategy.
  const bool alone = absl::StartsWith(name, "parallelism_config.") &&
                     (!absl::EndsWith(name, "_size") || setting.values.front() == "1");
  const bool strategy = name == "fsdp_config.sharding_strategy";
  if (alone || IsAuto(setting) || (strategy && second)) {
    ++config->irrelevant;
    return;
  }
  int number = 0;
  if (strategy && absl::SimpleAtoi(setting.values.front(), &number) && number >= 1 && number <= 5)
    setting.values.front() = kNumbered[number - 1];
  Sort(LaunchKeys(), name, std::move(setting), config);
}

// Returns whether `accelerate launch` has the option, or TRL passes it on to that command.
bool IsLaunchOption(const std::string& option) {
  return option == "config_file" || option == "accelerate_config" ||
         !EngineOf({option, {"true"}, ""}).empty() || Knows(LaunchKeys(), LaunchKey(option)) ||
         LaunchKey(option) == kEngineFile;
}

}  // namespace

bool IsAccelerate(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    if (setting.key == "distributed_type") return true;
  return false;
}

std::vector<Setting> TakeLaunchOptions(std::vector<Setting>* arguments) {
  const auto first =
      std::stable_partition(arguments->begin(), arguments->end(), [](const Setting& setting) {
        return Knows(TrainingArgumentsKeys(), setting.key) || !IsLaunchOption(setting.key);
      });
  std::vector<Setting> options(std::make_move_iterator(first),
                               std::make_move_iterator(arguments->end()));
  arguments->erase(first, arguments->end());
  return options;
}

std::vector<Setting> LaunchSettings(const std::vector<Setting>& options, const std::string& path,
                                    std::string* file, std::vector<std::string>* notes) {
  std::vector<Setting> settings, of_file;
  for (Setting option : options) {
    if (option.values.empty()) continue;
    const bool names_file = option.key == "config_file" || option.key == "accelerate_config";
    if (names_file && absl::StrContains(option.values.front(), "${")) {
      notes->push_back(Describe(option) +
                       ": is not read, as the script does not say which file it is: give it by "
                       "another --from.");
      continue;
    }
    if (option.key == "accelerate_config" && FindNamedFile(option.values.front(), path).empty()) {
      const LaunchProfile profile = LaunchProfileOf(option.values.front());
      if (profile.text.empty()) NamedPath(option, path);  // throws
      of_file = ReadYaml(profile.text, profile.name);
      *file = profile.name;
    } else if (names_file) {
      of_file = NamedFile(option, path);
      *file = NamedPath(option, path);
      for (Setting& setting : of_file)
        if (setting.key == kEngineFile && !setting.values.empty())
          setting.values = {NamedPath(setting, *file)};
    } else {
      option.key = LaunchKey(option.key);
      settings.push_back(std::move(option));
    }
  }
  return JoinLaunch(std::move(settings), std::move(of_file), notes);
}

std::vector<Setting> JoinLaunch(std::vector<Setting> options, std::vector<Setting> file,
                                std::vector<std::string>* notes) {
  const bool engine = std::any_of(options.begin(), options.end(),
                                  [](const Setting& option) { return !EngineOf(option).empty(); });
  const std::vector<Setting> given = options;
  for (Setting& setting : file) {
    if (engine && !EngineOf(setting).empty()) continue;
    const auto same = std::find_if(given.begin(), given.end(), [&](const Setting& option) {
      return option.key == setting.key;
    });
    if (same == given.end()) {
      options.push_back(std::move(setting));
    } else if (IsOfSection(setting) && same->values != setting.values) {
      notes->push_back(Describe(*same) + ": comes before " + Describe(setting) +
                       "; older releases of accelerate, such as 1.0, take the file's.");
    }
  }
  return options;
}

void SortAccelerate(std::vector<Setting> settings, const std::string& path, UserConfig* config) {
  config->format = ConfigFormat::kHuggingFace;
  // Version 1 unless said.
  bool second = false;
  std::string engine;
  for (Setting& setting : settings) {
    if (absl::StartsWith(setting.key, "fsdp_config.fsdp_")) setting.key.erase(12, 5);
    if (setting.key == kEngineFile && !setting.values.empty())
      setting.values = {NamedPath(setting, path)};
    second = second || (setting.key == "fsdp_config.version" &&
                        setting.values == std::vector<std::string>{"2"});
    if (const std::string named = EngineOf(setting); !named.empty()) engine = named;
  }
  config->launch = settings;
  bool engine_off = false, fsdp_off = false;
  for (Setting& setting : settings) {
    const bool of_engine = absl::StartsWith(setting.key, "deepspeed_config.");
    const bool of_fsdp = absl::StartsWith(setting.key, "fsdp_config.");
    if (setting.values.empty() || setting.values.front().empty()) {
      ++config->irrelevant;
    } else if (const std::string named = EngineOf(setting); !named.empty()) {
      SetEngine(setting, named, config);
    } else if ((of_engine && engine != "DEEPSPEED") || (of_fsdp && engine != "FSDP")) {
      engine_off = engine_off || of_engine;
      fsdp_off = fsdp_off || of_fsdp;
      ++config->irrelevant;
    } else {
      SortLaunchSetting(std::move(setting), path, second, config);
    }
  }
  if (engine_off)
    config->notes.emplace_back(
        "Settings of DeepSpeed for accelerate have no effect, as it does not run DeepSpeed.");
  if (fsdp_off)
    config->notes.emplace_back(
        "Settings of FSDP for accelerate have no effect, as it does not run FSDP.");
  config->engine_optimizer = config->Has(Field::kOptimizer);
}

}  // namespace evenkeel::cli
