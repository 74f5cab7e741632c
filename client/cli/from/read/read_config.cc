#include "client/cli/from/read/read_config.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/command_error.h"
#include "client/cli/from/read/accelerate.h"
#include "client/cli/from/read/documents.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/hugging_face.h"
#include "client/cli/from/read/megatron_yaml.h"
#include "client/cli/from/read/merge_files.h"
#include "client/cli/from/read/named_files.h"
#include "client/cli/from/read/options.h"
#include "client/cli/from/read/python_settings.h"
#include "client/cli/from/read/torchtitan_tables.h"
#include "client/cli/from/read/trainer_script.h"
#include "client/cli/from/read/unknown_files.h"
#include "client/cli/from/settings/keys.h"
#include "client/cli/from/shell/shell.h"
#include "client/cli/from/shell/slurm.h"

namespace evenkeel::cli {
namespace {

bool Reads(const KeyTables& tables, const std::string& name) {
  for (const KeyRecord& record : tables.read)
    if (name == record.key) return true;
  return false;
}

constexpr int kFewest = 2;  // arguments of Megatron-LM that a command of its has

int KnownOptions(const std::vector<ShellWord>& words) {
  int known = 0;
  for (const ShellWord& word : words)
    if (IsOption(word.text) &&
        Reads(MegatronKeys(), MegatronKey(word.text.substr(0, word.text.find('=')))))
      ++known;
  return known;
}

// Returns the command that trains: the one with the most arguments that are known. Lines that begin
// with options, as a file of arguments has, are one command.
std::vector<ShellWord> TrainingCommand(const ShellScript& script, int* found) {
  std::vector<ShellWord> arguments;
  const std::vector<ShellWord>* best = &arguments;
  for (const std::vector<ShellWord>& command : script.commands)
    if (IsOption(command.front().text))
      arguments.insert(arguments.end(), command.begin(), command.end());
  int most = KnownOptions(arguments);
  if (most >= kFewest) ++*found;
  for (const std::vector<ShellWord>& command : script.commands) {
    if (Prints(command) || IsOption(command.front().text)) continue;
    const int known = KnownOptions(command);
    if (known >= kFewest) ++*found;
    if (known > most) best = &command, most = known;
  }
  return *best;
}

// Refuses programs of Megatron-LM whose models are other than a decoder of text.
void CheckProgram(const std::string& file, const std::string& where) {
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"pretrain_t5.py", "an encoder and a decoder that attends to it"},
      {"pretrain_bert.py", "BERT"},
      {"pretrain_biencoder.py", "two encoders"},
      {"pretrain_ict.py", "two encoders"},
      {"pretrain_retro.py", "a retriever"},
      {"pretrain_vision_classify.py", "an image encoder alone"},
      {"pretrain_vision_dino.py", "an image encoder alone"},
      {"pretrain_vision_inpaint.py", "an image encoder alone"}};
  for (const auto& [program, trains] : kOthers)
    if (absl::EndsWith(file, program))
      FailReading(fmt::format("{}: {}: not yet: this program trains {}", where, file, trains));
}

// The launcher's options in front of the program matter only where they count GPUs.
void SortCommand(const std::vector<ShellWord>& command, const std::string& name,
                 UserConfig* config) {
  size_t program = 0;
  while (program < command.size() && !IsProgram(command[program].text) &&
         command[program].text != "-m")
    ++program;
  if (program == command.size()) program = 0;
  const std::string& file = command[program].text;
  CheckProgram(file, fmt::format("{}:{}", name, command[program].line));
  if (absl::EndsWith(file, "pretrain_vlm.py") || absl::EndsWith(file, "multimodal/train.py"))
    config->fields[Field::kVisionModel] = {
        file, {}, fmt::format("{}:{}", name, command[program].line)};
  for (Setting& option : OptionsOf(command, 0, program, name)) {
    const std::string key = MegatronKey(option.key);
    if (key == "nnodes" || key == "nproc-per-node") {
      Sort(MegatronKeys(), key, std::move(option), config);
    } else {
      ++config->irrelevant;
    }
  }
  for (Setting& option : OptionsOf(command, program, command.size(), name)) {
    const std::string key = MegatronKey(option.key);
    Sort(MegatronKeys(), key, std::move(option), config);
  }
}

void SortAll(std::vector<Setting> settings, const KeyTables& tables, bool megatron,
             UserConfig* config) {
  for (Setting& setting : settings) {
    const std::string name = megatron ? MegatronKey(setting.key) : setting.key;
    Sort(tables, name, std::move(setting), config);
  }
}

// A script of `launch` for DeepSpeed or torchtitan holds the files that say what runs.
bool SortFiles(const ShellScript& script, const std::string& name, UserConfig* config) {
  bool found = false;
  for (const ShellFile& file : script.files) {
    const std::string where = name + " (" + file.name + ")";
    if (absl::EndsWith(file.name, ".json")) {
      config->format = ConfigFormat::kDeepSpeed;
      SortAll(ReadJsonPart(file.text, where), DeepSpeedKeys(), false, config);
      found = true;
    } else if (file.name == "evenkeel_torchtitan.py") {
      config->format = ConfigFormat::kTorchtitan;
      SortPythonSettings(ReadPythonSettings(file.text, name, file.line), config);
      found = true;
    } else if (absl::StartsWith(file.name, "evenkeel_p") ||
               absl::StartsWith(file.name, "evenkeel_r")) {
      SortPythonSettings(ReadPythonSettings(file.text, name, file.line), config);
    }
  }
  return found;
}

void AddNotes(const ShellScript& script, UserConfig* config) {
  if (script.branches)
    config->notes.push_back(
        "The script has branches or loops: of each variable the last value counts, whatever the "
        "branch.");
  if (!script.unset.empty())
    config->notes.push_back(
        "Variables that the script does not set: " + absl::StrJoin(script.unset, ", ") + ".");
  if (!script.empty_in_tests.empty())
    config->notes.push_back("Empty in the script's tests, as neither it nor --env sets them: " +
                            absl::StrJoin(script.empty_in_tests, ", ") + ".");
}

[[noreturn]] void FailWithoutCommand(const ShellScript& script, const std::string& name) {
  for (const std::vector<ShellWord>& command : script.commands)
    for (const ShellWord& word : command)
      if (absl::StrContains(word.text, "torchtitan") || absl::StartsWith(word.text, "--job.config"))
        FailReading(
            fmt::format("{}:{}: {}: not yet: torchtitan's options: give the TOML of "
                        "--job.config_file as --from, with what options change",
                        name, word.line, word.text));
  FailReading(name +
              ": no command in it has arguments of Hugging Face Trainer (such as "
              "--per_device_train_batch_size) or Megatron-LM (such as "
              "--tensor-model-parallel-size); --framework names the trainer if there are few, and "
              "a YAML, JSON or TOML that the command reads can be given as --from itself");
}

// Refuses commands of a program whose arguments are like those of Megatron-LM.
void RefuseMegatronSwift(const ShellScript& script, const std::string& name) {
  for (const std::vector<ShellWord>& command : script.commands)
    for (size_t i = 0; i + 1 < command.size(); ++i) {
      const std::string& verb = command[i + 1].text;
      if (BaseName(command[i].text) == "megatron" &&
          (verb == "sft" || verb == "pt" || verb == "rlhf"))
        FailReading(
            fmt::format("{}:{}: megatron {}: not yet: Megatron-SWIFT of ms-swift; what it runs can "
                        "be given as arguments of Megatron-LM",
                        name, command[i].line, verb));
    }
}

UserConfig ReadScript(const std::string& text, const std::string& path, const std::string& name,
                      std::optional<ConfigFormat> wanted, const Environment& environment) {
  ShellScript script = ReadShell(text, name, environment);
  RefuseMegatronSwift(script, name);
  UserConfig trainer;
  AddNotes(script, &trainer);
  std::string missing;
  if (SortTrainerCommand(&script, path, wanted == ConfigFormat::kHuggingFace, &trainer, &missing)) {
    AddSlurmCounts(script.slurm, &trainer);
    return trainer;
  }
  if (wanted == ConfigFormat::kHuggingFace)
    FailReading(name +
                ": no command with arguments of Hugging Face Trainer is in it, such as "
                "--per_device_train_batch_size");
  bool flagscale = wanted == ConfigFormat::kFlagScale;
  int found = 0;
  const std::vector<ShellWord> command = TrainingCommand(script, &found);
  for (const ShellWord& word : command)
    flagscale = flagscale || (IsProgram(word.text) && absl::StrContains(word.text, "flagscale"));
  UserConfig config{.format = flagscale ? ConfigFormat::kFlagScale : ConfigFormat::kMegatron};
  if (SortFiles(script, name, &config)) {
    for (const std::vector<ShellWord>& words : script.commands)
      for (Setting& option : OptionsOf(words, 0, words.size(), name)) {
        const std::string key = MegatronKey(option.key);
        if (key == "nnodes" || key == "nproc-per-node")
          Sort(MegatronKeys(), key, std::move(option), &config);
      }
  } else if (KnownOptions(command) < kFewest) {
    if (!missing.empty()) FailReading(missing);
    FailWithoutCommand(script, name);
  } else {
    SortCommand(command, name, &config);
    std::vector<std::string> words;
    for (const ShellWord& word : command) words.push_back(word.text);
    TakeSrunOptions(words, fmt::format("{}:{}", name, command.front().line), &script.slurm);
    if (found > 1) config.notes.push_back(CommandNote(found, command.front().line));
  }
  AddSlurmCounts(script.slurm, &config);
  AddNotes(script, &config);
  return config;
}

// Returns how the content is written: "json", "toml", "yaml", "python", or "script" for a script or
// arguments.
std::string KindOf(const std::string& text, const std::string& path) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) FailReading(path + " is empty");
  if (text[first] == '{' || absl::EndsWith(path, ".json")) return "json";
  if (absl::EndsWith(path, ".toml")) return "toml";
  if (absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml")) return "yaml";
  if (absl::EndsWith(path, ".py")) return "python";
  if (absl::StartsWith(text.substr(first), "#!") || absl::EndsWith(path, ".sh")) return "script";
  if (("\n" + text).find("\n--") != std::string::npos || text.find(" --") != std::string::npos)
    return "script";
  if (("\n" + text).find("\n[") != std::string::npos) return "toml";
  return "yaml";
}

// Runs a parser. Where the file's name does not say the format, a fault says what is accepted.
template <typename Parser>
std::vector<Setting> Parsed(bool named, const Parser& parse) {
  try {
    return parse();
  } catch (const CommandError& error) {
    if (named) throw;
    FailReading(fmt::format("{}; {}", error.what(), AcceptedText()));
  }
}

// DeepSpeed itself knows no "auto".
void CheckFilledIn(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    if (setting.values.size() == 1 && setting.values.front() == "auto" &&
        Reads(DeepSpeedKeys(), setting.key))
      FailReading(
          Describe(setting) +
          ": Hugging Face's Trainer fills this in: give its arguments (JSON, YAML or a script) as "
          "--from, whose \"deepspeed\" names this file");
}

// NVIDIA's recipes have "${TP}" as values. What has no variable of the name stays.
void FillIn(const Environment& environment, std::vector<Setting>* settings) {
  for (const auto& [name, value] : environment)
    for (Setting& setting : *settings)
      for (std::string& text : setting.values)
        absl::StrReplaceAll({{"${" + name + "}", value}}, &text);
}

UserConfig ReadJsonFile(const std::string& text, const std::string& path, const std::string& name,
                        bool hugging_face) {
  UserConfig config;
  config.format = ConfigFormat::kDeepSpeed;
  std::set<std::string> nulls;
  std::vector<Setting> settings =
      Parsed(absl::EndsWith(path, ".json") && text.find('{') == text.find_first_not_of(" \t\r\n"),
             [&] { return ReadJson(text, name, &nulls); });
  for (const Setting& setting : settings)
    if (setting.key == "architectures" || setting.key == "model_type")
      FailReading(name +
                  " is a model's config.json: give it as --model, and the trainer's "
                  "configuration as --from");
  if (hugging_face || IsHuggingFaceJson(settings)) {
    SortHuggingFace(std::move(settings), nulls, path, &config);
  } else {
    CheckFilledIn(settings);
    SortAll(std::move(settings), DeepSpeedKeys(), false, &config);
  }
  return config;
}

UserConfig ReadByKind(const std::string& kind, const std::string& text, const std::string& path,
                      const std::string& name, std::optional<ConfigFormat> wanted,
                      const Environment& environment) {
  if (kind == "script") return ReadScript(text, path, name, wanted, environment);
  const bool hugging_face = wanted == ConfigFormat::kHuggingFace;
  UserConfig config;
  if (kind == "yaml") {
    std::set<std::string> nulls;
    std::vector<Setting> settings =
        Parsed(absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml"),
               [&] { return ReadYaml(text, name, &nulls); });
    FillIn(environment, &settings);
    for (const Setting& setting : settings)
      if (absl::StartsWith(setting.key, "dist_config.") || setting.key == "train_dataset")
        FailReading(Describe(setting) +
                    ": not yet: configurations of LLaMA-Factory v1; accepted are those with "
                    "model_name_or_path and finetuning_type");
    const bool launch = IsAccelerate(settings);
    if (IsHuggingFace(settings) || (hugging_face && !launch)) {
      // Only TRL passes keys of its YAML on to accelerate.
      std::vector<Setting> options;
      if (FrontEndOf(settings) == nullptr) options = TakeLaunchOptions(&settings);
      config.syntax = Syntax::kYaml;
      SortHuggingFace(std::move(settings), nulls, path, &config);
      if (!options.empty()) AddLaunch(options, path, &config);
      if (config.front_end == &MsSwift()) {
        CountSwiftProcesses(environment, "--env", &config);
        NoteSwiftImages(environment, "--env", &config);
      }
    } else if (launch) {
      config.files[RunFile::kLaunch] = name;
      SortAccelerate(std::move(settings), path, &config);
    } else {
      config = ReadMegatronYaml(std::move(settings), path, wanted);
    }
    return config;
  }
  if (kind == "json") {
    return ReadJsonFile(text, path, name, hugging_face);
  } else if (kind == "toml") {
    config.format = ConfigFormat::kTorchtitan;
    config.whole_logits = true;  // releases up to 0.2, whose configurations are TOML
    SortAll(Parsed(absl::EndsWith(path, ".toml"), [&] { return ReadToml(text, name); }),
            TorchtitanKeys(), false, &config);
    DropIdleTables(&config);
  } else {
    if (absl::StartsWith(text, "# Written by Evenkeel") &&
        !absl::StrContains(text, "The plan for torchtitan"))
      FailReading(name +
                  " is a module that `launch` wrote for the trainer to import, and is not read: "
                  "`evaluate` reads what `launch` prints without --output-dir for megatron, "
                  "flagscale, deepspeed and torchtitan");
    config.format = ConfigFormat::kTorchtitan;
    SortPythonSettings(ReadPythonSettings(text, name, 1), &config);
  }
  return config;
}

// Refuses variables that no file takes: a script takes all, a YAML those of its values, and
// ms-swift those that it reads.
void CheckTaken(const Environment& environment, const std::vector<std::string>& paths,
                const std::vector<std::string>& texts, bool swift) {
  bool yaml = false;
  std::string all;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string kind = KindOf(texts[i], paths[i]);
    if (kind == "script") return;
    yaml = yaml || kind == "yaml";
    if (kind == "yaml") all += texts[i];
  }
  for (const auto& [name, value] : environment)
    if (!absl::StrContains(all, "${" + name + "}") && !(swift && IsSwiftVariable(name)))
      FailReading(fmt::format("--env {}: {} {}", name, FileNameOf(paths.front()),
                              yaml ? "has no ${" + name + "}" : "is no shell script or YAML"));
}

}  // namespace

UserConfig ReadConfigText(const std::string& text, const std::string& path,
                          std::optional<ConfigFormat> wanted, const Environment& environment) {
  const std::string name = FileNameOf(path);
  if (!IsText(text)) FailReading(name + " is no text; " + AcceptedText());
  if (!wanted) RefuseOtherTrainers(text, name);
  const std::string kind = KindOf(text, path);
  UserConfig config = ReadByKind(kind, text, path, name, wanted, environment);
  if (config.used.empty() && (kind == "python" || !wanted)) FailWithoutSetting(kind, name);
  if (wanted && *wanted != config.format)
    FailReading(fmt::format("{} looks like a configuration of {}, not of --framework {}", name,
                            RecordOf(config.format).title, RecordOf(*wanted).name));
  if (config.used.empty())
    FailReading(fmt::format("{}: nothing in it is a setting of {}", name, TrainerName(config)));
  return config;
}

UserConfig ReadUserConfig(const std::vector<std::string>& paths, std::optional<ConfigFormat> wanted,
                          const Environment& environment) {
  std::vector<UserConfig> files;
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    texts.push_back(ReadWholeFile(path, kMaxConfigText));
    files.push_back(ReadConfigText(texts.back(), path, wanted, environment));
    if (files.size() > 1 && (files.front().format != ConfigFormat::kHuggingFace ||
                             files.back().format != ConfigFormat::kHuggingFace))
      FailReading(path +
                  ": only a run of Hugging Face Trainer has several files: its arguments, an "
                  "adapter_config.json, and the file of accelerate launch");
  }
  const bool swift = std::any_of(files.begin(), files.end(), [](const UserConfig& file) {
    return file.front_end == &MsSwift();
  });
  CheckTaken(environment, paths, texts, swift);
  // A command is read with the launch file that it runs with.
  std::stable_partition(files.begin(), files.end(), [](const UserConfig& file) {
    return file.files.count(RunFile::kArguments) > 0;
  });
  UserConfig config = std::move(files.front());
  for (size_t i = 1; i < files.size(); ++i) Merge(std::move(files[i]), &config);
  if (config.format == ConfigFormat::kHuggingFace && config.files.count(RunFile::kArguments) == 0)
    FailReading(config.files.begin()->second +
                ": give the arguments of the Trainer too, by another --from");
  return config;
}

}  // namespace evenkeel::cli
