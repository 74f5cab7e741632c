#include "client/cli/from/read/trainer_script.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/accelerate.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/hugging_face.h"
#include "client/cli/from/read/merge_files.h"
#include "client/cli/from/read/named_files.h"
#include "client/cli/from/read/options.h"
#include "client/cli/from/settings/keys.h"

namespace evenkeel::cli {
namespace {

// What launchers call the number of nodes and that of processes on each, and what these set.
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

// Subcommands of trl that train (trl/cli/commands/__init__.py and older releases), and other parts
// of the names of its programs.
constexpr const char* kSft = "sft";
constexpr const char* kOtherMethods[] = {
    "dpo", "grpo", "kto", "reward", "rloo", "ppo",        "gkd",     "distillation",   "orpo",
    "cpo", "prm",  "bco", "xpo",    "gold", "online_dpo", "nash_md", "reward_modeling"};
constexpr const char* kMethodParts[] = {"gspo",  "mpo",  "odpo", "alphapo", "maxrl",
                                        "ppov2", "papo", "nash", "ipo",     "simpo"};

bool IsOtherMethod(const std::string& name) {
  return std::count(std::begin(kOtherMethods), std::end(kOtherMethods), name) > 0;
}

// Returns whether a program or module is called after such a method: dpo_vlm.py, run_orpo.py,
// trl.scripts.grpo.
bool IsOtherProgram(const std::string& stem) {
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(stem, absl::ByAnyChar("_-"))))
    if (IsOtherMethod(part) ||
        std::count(std::begin(kMethodParts), std::end(kMethodParts), part) > 0)
      return true;
  return false;
}

// Returns whether it is one of TRL's for supervised fine-tuning, or alignment-handbook's.
bool IsSftProgram(const std::string& stem) {
  return stem == kSft || stem == "run_sft" || stem == "sft_gpt_oss" ||
         absl::StartsWith(stem, "sft_vlm");
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
// HfArgumentParser has --no_NAME for those that are true by default.
std::vector<Setting> Arguments(std::vector<Setting> options) {
  for (Setting& option : options) {
    option.key = absl::StrReplaceAll(option.key.substr(2), {{"-", "_"}});
    if (!option.values.empty()) continue;
    const bool negated =
        absl::StartsWith(option.key, "no_") && Knows(TrainingArgumentsKeys(), option.key.substr(3));
    if (negated) option.key.erase(0, 3);
    option.values = {negated ? "false" : "true"};
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
  std::vector<std::string> words;
  std::vector<Setting> launcher, arguments;
  std::set<std::string> nulls;
  bool accelerate = false;
  bool trl = false, trl_program = false;  // its command, or a program with the name of one of its
  bool swift = false;                     // the command of ms-swift
  bool bare_file = false;                 // the file of arguments has no --config in front
  std::string method, place;              // if it is no supervised fine-tuning, and where it is
  int line = 0;
};

// Notes what the name of a program says.
void NameProgram(const std::string& stem, const std::string& text, TrainerCommand* command) {
  if (IsOtherProgram(stem)) command->method = text;
  command->trl_program = IsSftProgram(stem);
}

// Returns the index of the program: a file, the "-m" of a module, or the command of TRL or
// ms-swift. 0 if there is none.
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
    if (BaseName(words[i].text) == kSwiftCommand && !last && !IsOption(next)) {
      command->swift = true;
      command->method = next == kSft || next == "pt" ? "" : "swift " + next;
      return i + 1;
    }
    if (IsProgram(words[i].text)) {
      NameProgram(std::string(absl::StripSuffix(BaseName(words[i].text), ".py")), words[i].text,
                  command);
      return i;
    }
    if (module == 0 && (words[i].text == "-m" || words[i].text == "--module") &&
        !IsLauncherModule(next))
      module = i;
  }
  if (module > 0 && module + 1 < words.size()) {
    const std::string& name = words[module + 1].text;
    NameProgram(name.substr(name.find_last_of('.') + 1), name, command);
  }
  return module;
}

// Takes the file that stands as the first argument: a JSON for HfArgumentParser, a YAML for
// alignment-handbook's parser.
void TakeBareFile(const std::vector<ShellWord>& words, size_t program, const std::string& name,
                  TrainerCommand* command) {
  const std::string& text = words[program].text;
  const bool module = text == "-m" || text == "--module";
  const size_t first = program + (module ? 2 : 1);
  if (program == 0 || first >= words.size() || (!module && !IsProgram(text))) return;
  const ShellWord& word = words[first];
  if (!IsYaml(word.text) && !absl::EndsWith(word.text, ".json")) return;
  command->bare_file = true;
  command->arguments.insert(command->arguments.begin(),
                            {"config", {word.text}, absl::StrCat(name, ":", word.line)});
}

// TrlParser reads arguments from a file. Programs that are not a Trainer may have no such file.
void ReadArgumentsFile(const std::string& path, bool known, TrainerCommand* command,
                       std::string* missing) {
  std::vector<Setting>& arguments = command->arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Setting config = arguments[i];
    if (config.key != "config" ||
        (!IsYaml(config.values.front()) && !command->trl && !command->bare_file))
      continue;
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
  for (const ShellWord& word : words) command.words.push_back(word.text);
  command.line = words[program].line;
  command.place = absl::StrCat(name, ":", command.line);
  command.launcher = Arguments(OptionsOf(words, 0, program, name));
  command.arguments = Arguments(OptionsOf(words, program, words.size(), name));
  if (command.swift)
    command.arguments.insert(command.arguments.begin(),
                             {kSwiftCommand, {words[program].text}, command.place});
  TakeBareFile(words, program, name, &command);
  ReadArgumentsFile(path, known, &command, missing);
  if (command.trl || (command.accelerate && program == 0)) {
    // TRL starts accelerate itself.
    command.accelerate = true;
    for (Setting& option : TakeLaunchOptions(&command.arguments))
      command.launcher.push_back(std::move(option));
  }
  return command;
}

// "--include localhost:0,1,2,3" of deepspeed is four GPUs of one node. '@' stands between nodes,
// which have all their GPUs where none are listed.
void CountIncluded(Setting* option) {
  if (option->key != "include" || option->values.size() != 1) return;
  const std::vector<std::string> parts = absl::StrSplit(option->values.front(), ':');
  if (parts.size() != 2 || absl::StrContains(option->values.front(), "@")) return;
  const std::vector<std::string> gpus = absl::StrSplit(parts[1], ',', absl::SkipEmpty());
  option->key = "num_gpus";
  option->values = {absl::StrCat(gpus.size())};
}

size_t KnownArguments(const TrainerCommand& command) {
  return static_cast<size_t>(
      std::count_if(command.arguments.begin(), command.arguments.end(), [](const Setting& setting) {
        return Knows(TrainingArgumentsKeys(), setting.key) || setting.key == kSwiftCommand;
      }));
}

}  // namespace

std::string CommandNote(int count, int line) {
  return absl::StrCat("Of ", count, " commands that train, the one in line ", line,
                      " was read, which has the most arguments that are known.");
}

bool SortTrainerCommand(ShellScript* script, const std::string& path, bool known,
                        UserConfig* config, std::string* missing) {
  TrainerCommand best;
  int found = 0;
  for (const std::vector<ShellWord>& words : script->commands) {
    if (Prints(words)) continue;
    TrainerCommand command = SplitAtProgram(words, path, known, missing);
    const bool runs_trainer = known || command.trl || IsHuggingFace(command.arguments);
    if (runs_trainer && KnownArguments(command) > 1) ++found;
    if (runs_trainer && KnownArguments(command) > KnownArguments(best)) best = std::move(command);
  }
  if (best.arguments.empty()) return false;
  if (!best.method.empty())
    throw CommandError(ExitCode::kBadInput, best.place + ": " + best.method +
                                                ": not yet: " + kOtherLoss +
                                                "; accepted is supervised fine-tuning");
  if (found > 1) config->notes.push_back(CommandNote(found, best.line));
  // Other projects have programs of these names, with other arguments.
  const bool names_model =
      std::any_of(best.arguments.begin(), best.arguments.end(),
                  [](const Setting& setting) { return setting.key == "model_name_or_path"; });
  config->trl = best.trl || (best.trl_program && names_model);
  config->syntax = Syntax::kScript;
  TakeSrunOptions(best.words, best.place, &script->slurm);
  SortHuggingFace(std::move(best.arguments), best.nulls, path, config);
  if (best.accelerate) {
    AddLaunch(best.launcher, path, config);
    return true;
  }
  if (best.swift) {
    CountSwiftProcesses(script->variables, best.place, config);
    NoteSwiftImages(script->variables, best.place, config);
  }
  for (Setting& option : best.launcher) CountIncluded(&option);
  for (Setting& option : best.launcher)
    for (const LauncherCount& count : kLauncherCounts)
      if (option.key == count.option) Sort(MegatronKeys(), count.key, option, config);
  return true;
}

}  // namespace evenkeel::cli
