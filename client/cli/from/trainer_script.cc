// Commands that run Hugging Face's Trainer: by python, torchrun, deepspeed, accelerate or trl.
#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "client/cli/from/hugging_face.h"
#include "client/cli/from/keys.h"
#include "client/cli/from/options.h"

namespace evenkeel::cli {
namespace {

// What launchers call the numbers of nodes and of processes on each, and what the latter is.
struct LauncherCount {
  const char* option;
  const char* key;  // of Megatron-LM's scripts, which torchrun starts too
};
constexpr LauncherCount kLauncherCounts[] = {{"nnodes", "nnodes"},
                                             {"num_nodes", "nnodes"},
                                             {"nproc_per_node", "nproc-per-node"},
                                             {"num_gpus", "nproc-per-node"}};

// Options of `accelerate launch` that its file has in sections.
struct LaunchOption {
  const char *option, *key;
};
constexpr LaunchOption kLaunchOptions[] = {
    {"num_processes", "num_processes"},
    {"num_machines", "num_machines"},
    {"mixed_precision", "mixed_precision"},
    {"deepspeed_config_file", "deepspeed_config.deepspeed_config_file"},
    {"zero_stage", "deepspeed_config.zero_stage"},
    {"offload_optimizer_device", "deepspeed_config.offload_optimizer_device"},
    {"offload_param_device", "deepspeed_config.offload_param_device"},
    {"gradient_accumulation_steps", "deepspeed_config.gradient_accumulation_steps"}};

// "--per-device-train-batch-size" is per_device_train_batch_size, and a switch is true.
std::vector<Setting> Arguments(std::vector<Setting> options) {
  for (Setting& option : options) {
    option.key = absl::StrReplaceAll(option.key.substr(2), {{"-", "_"}});
    if (option.values.empty()) option.values = {"true"};
  }
  return options;
}

// Adds the settings of a file that the command line does not give itself.
void AddFile(std::vector<Setting> file, std::vector<Setting>* settings) {
  std::set<std::string> given;
  for (const Setting& setting : *settings) given.insert(setting.key);
  for (Setting& setting : file)
    if (given.count(setting.key) == 0) settings->push_back(std::move(setting));
}

bool IsYaml(const std::string& name) {
  return absl::EndsWith(name, ".yaml") || absl::EndsWith(name, ".yml");
}

bool IsFileBeside(const std::string& name, const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::filesystem::path(path).parent_path() / name,
                                          ignored);
}

// One command, split at its program.
struct TrainerCommand {
  std::vector<Setting> launcher, arguments;
  bool accelerate = false;
};

TrainerCommand SplitAtProgram(const std::vector<ShellWord>& words, const std::string& path) {
  TrainerCommand command;
  // "python -m torch.distributed.run" has a program behind its module.
  size_t program = 0, module = 0;
  for (size_t i = words.size(); i-- > 0;) {
    if (IsProgram(words[i].text)) program = i;
    if (words[i].text == "-m") module = i;
    command.accelerate = command.accelerate || words[i].text == "accelerate";
  }
  if (program == 0) program = module;
  const std::string name = FileNameOf(path);
  command.launcher = Arguments(OptionsOf(words, 0, program, name));
  command.arguments = Arguments(OptionsOf(words, program, words.size(), name));
  // TrlParser reads arguments from a file. Programs that are not a Trainer may have no such file.
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const Setting config = command.arguments[i];
    if (config.key != "config" || !IsYaml(config.values.front())) continue;
    if (!IsHuggingFace(command.arguments) && !IsFileBeside(config.values.front(), path)) break;
    command.arguments.erase(command.arguments.begin() + static_cast<std::ptrdiff_t>(i));
    AddFile(NamedFile(config, path), &command.arguments);
    break;
  }
  return command;
}

// Returns what accelerate's options and the file that they name say.
std::vector<Setting> LaunchSettings(const std::vector<Setting>& options, const std::string& path) {
  std::vector<Setting> settings, file;
  for (Setting option : options) {
    if (option.key == "config_file") file = NamedFile(option, path);
    if (absl::StartsWith(option.key, "fsdp_")) {
      option.key = "fsdp_config." + option.key;
    } else if (option.key == "use_fsdp" || option.key == "use_deepspeed") {
      option.values = {option.key == "use_fsdp" ? "FSDP" : "DEEPSPEED"};
      option.key = "distributed_type";
    } else {
      const auto* const known =
          std::find_if(std::begin(kLaunchOptions), std::end(kLaunchOptions),
                       [&](const LaunchOption& record) { return option.key == record.option; });
      if (known == std::end(kLaunchOptions)) continue;
      option.key = known->key;
    }
    settings.push_back(std::move(option));
  }
  AddFile(std::move(file), &settings);
  return settings;
}

}  // namespace

bool SortTrainerCommand(const ShellScript& script, const std::string& path, UserConfig* config) {
  TrainerCommand best;
  for (const std::vector<ShellWord>& words : script.commands) {
    TrainerCommand command = SplitAtProgram(words, path);
    if (IsHuggingFace(command.arguments) && command.arguments.size() > best.arguments.size())
      best = std::move(command);
  }
  if (best.arguments.empty()) return false;
  SortHuggingFace(std::move(best.arguments), {}, path, config);
  if (best.accelerate) {
    UserConfig launch;
    SortAccelerate(LaunchSettings(best.launcher, path), path, &launch);
    Merge(std::move(launch), config);
    return true;
  }
  for (Setting& option : best.launcher)
    for (const LauncherCount& count : kLauncherCounts)
      if (option.key == count.option) Sort(MegatronKeys(), count.key, option, config);
  return true;
}

}  // namespace evenkeel::cli
