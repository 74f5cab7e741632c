// Commands that run Hugging Face's Trainer: by python, torchrun, deepspeed, accelerate or trl.
#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/strip.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "client/cli/exit_codes.h"
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

// Modules that run a program, as in "python -m torch.distributed.run".
constexpr const char* kLauncherModules[] = {
    "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch",
    "accelerate.commands.accelerate_cli", "deepspeed.launcher.runner"};

// Subcommands of trl that train (trl/cli/commands/__init__.py and older releases). The programs
// behind them have the same names.
constexpr const char* kSft = "sft";
constexpr const char* kOtherMethods[] = {
    "dpo", "grpo", "kto", "reward",     "rloo",    "ppo",  "distillation",   "gkd", "orpo", "cpo",
    "prm", "bco",  "xpo", "online_dpo", "nash_md", "gold", "reward_modeling"};

std::string BaseName(const std::string& word) { return word.substr(word.find_last_of('/') + 1); }

bool IsOtherMethod(const std::string& name) {
  return std::count(std::begin(kOtherMethods), std::end(kOtherMethods), name) > 0;
}

bool IsLauncherModule(const std::string& word) {
  return std::count(std::begin(kLauncherModules), std::end(kLauncherModules), word) > 0;
}

bool IsAccelerateWord(const std::string& word) {
  const std::string name = BaseName(word);
  return name == "accelerate" || name == "accelerate-launch" ||
         absl::StartsWith(word, "accelerate.commands.");
}

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

// One command, split at its program.
struct TrainerCommand {
  std::vector<Setting> launcher, arguments;
  std::set<std::string> nulls;
  bool accelerate = false, trl = false;
  std::string method, place;  // of TRL's that is no supervised fine-tuning, and where it is
};

// Returns the index of the program: a file, the "-m" of a module, or TRL's command. 0 if there is
// none.
size_t ProgramOf(const std::vector<ShellWord>& words, TrainerCommand* command) {
  size_t module = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    const std::string next = last ? "" : words[i + 1].text;
    if (BaseName(words[i].text) == "trl" && (next == kSft || IsOtherMethod(next))) {
      command->trl = true;
      command->method = next == kSft ? "" : "trl " + next;
      return i + 1;
    }
    if (IsProgram(words[i].text)) {
      const std::string stem(absl::StripSuffix(BaseName(words[i].text), ".py"));
      if (IsOtherMethod(std::string(absl::StripPrefix(stem, "run_"))))
        command->method = words[i].text;
      return i;
    }
    if (module == 0 && (words[i].text == "-m" || words[i].text == "--module") &&
        !IsLauncherModule(next))
      module = i;
  }
  return module;
}

// TrlParser reads arguments from a file. Programs that are not a Trainer may have no such file.
void ReadArgumentsFile(const std::string& path, bool known, TrainerCommand* command,
                       std::string* missing) {
  std::vector<Setting>& arguments = command->arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Setting config = arguments[i];
    if (config.key != "config" || (!IsYaml(config.values.front()) && !command->trl)) continue;
    if (!known && !command->trl && !IsHuggingFace(arguments) &&
        FindNamedFile(config.values.front(), path).empty()) {
      try {
        NamedPath(config, path);
      } catch (const CommandError& error) {
        *missing = error.what();
      }
      return;
    }
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
    AddFile(NamedFile(config, path, &command->nulls), &arguments);
    return;
  }
}

TrainerCommand SplitAtProgram(const std::vector<ShellWord>& words, const std::string& path,
                              bool known, std::string* missing) {
  TrainerCommand command;
  const size_t program = ProgramOf(words, &command);
  for (size_t i = 0; i < words.size() && (program == 0 || i < program); ++i) {
    if (program == 0 && IsOption(words[i].text)) break;
    command.accelerate = command.accelerate || IsAccelerateWord(words[i].text);
  }
  const std::string name = FileNameOf(path);
  command.place = name + ":" + std::to_string(words[program].line);
  command.launcher = Arguments(OptionsOf(words, 0, program, name));
  command.arguments = Arguments(OptionsOf(words, program, words.size(), name));
  ReadArgumentsFile(path, known, &command, missing);
  if (command.trl || (command.accelerate && program == 0)) {
    // TRL starts accelerate itself.
    command.accelerate = true;
    for (Setting& option : TakeLaunchOptions(&command.arguments))
      command.launcher.push_back(std::move(option));
  }
  return command;
}

size_t KnownArguments(const TrainerCommand& command) {
  return static_cast<size_t>(std::count_if(
      command.arguments.begin(), command.arguments.end(),
      [](const Setting& setting) { return Knows(TrainingArgumentsKeys(), setting.key); }));
}

}  // namespace

bool SortTrainerCommand(const ShellScript& script, const std::string& path, bool known,
                        UserConfig* config, std::string* missing) {
  TrainerCommand best;
  for (const std::vector<ShellWord>& words : script.commands) {
    TrainerCommand command = SplitAtProgram(words, path, known, missing);
    const bool runs_trainer = known || command.trl || IsHuggingFace(command.arguments);
    if (runs_trainer && KnownArguments(command) > KnownArguments(best)) best = std::move(command);
  }
  if (best.arguments.empty()) return false;
  if (!best.method.empty())
    throw CommandError(ExitCode::kBadInput,
                       best.place + ": " + best.method +
                           ": not yet: a loss beside a reference or reward model; accepted is "
                           "supervised fine-tuning");
  config->trl = best.trl;
  SortHuggingFace(std::move(best.arguments), best.nulls, path, config);
  if (best.accelerate) {
    AddLaunch(best.launcher, path, config);
    return true;
  }
  for (Setting& option : best.launcher)
    for (const LauncherCount& count : kLauncherCounts)
      if (option.key == count.option) Sort(MegatronKeys(), count.key, option, config);
  return true;
}

}  // namespace evenkeel::cli
