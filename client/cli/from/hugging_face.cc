#include "client/cli/from/hugging_face.h"

#include <absl/strings/match.h>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "client/cli/byte_source.h"
#include "client/cli/exit_codes.h"
#include "client/cli/from/documents.h"
#include "client/cli/from/keys.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMaxNamedText = size_t{1} << 20;
constexpr char kEngine[] = "deepspeed.";
constexpr char kFsdpConfig[] = "fsdp_config.";
constexpr char kFsdpPrefix[] = "fsdp_config.fsdp_";

// Keys of TRL's SFTConfig that TrainingArguments do not have (trl/trainer/sft_config.py).
constexpr const char* kTrlKeys[] = {"max_length",          "packing",
                                    "packing_strategy",    "padding_free",
                                    "eval_packing",        "pad_to_multiple_of",
                                    "dataset_text_field",  "dataset_num_proc",
                                    "assistant_only_loss", "completion_only_loss"};

bool HasKey(const std::vector<Setting>& settings, const std::string& key) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const Setting& setting) { return setting.key == key; });
}

// A dictionary may be written as a word, as on a command line.
bool IsDictionary(const Setting& setting) {
  return setting.values.size() == 1 && absl::StartsWith(setting.values.front(), "{");
}

// Every file of PEFT names its method.
bool IsAdapter(const std::vector<Setting>& settings) { return HasKey(settings, "peft_type"); }

// Releases that have max_seq_length, before 0.20, have the defaults of TrainingArguments.
bool IsTrl(const std::vector<Setting>& settings) {
  return !HasKey(settings, "max_seq_length") &&
         std::any_of(std::begin(kTrlKeys), std::end(kTrlKeys),
                     [&](const char* key) { return HasKey(settings, key); });
}

bool IsAuto(const Setting& setting) {
  return setting.values.size() == 1 && setting.values.front() == "auto";
}

// An empty list or word, or -1, which no key that is read takes.
bool IsUnset(const Setting& setting) {
  return setting.values.empty() || (setting.values.size() == 1 && (setting.values.front().empty() ||
                                                                   setting.values.front() == "-1"));
}

// Writes dictionaries out, one setting for each key.
std::vector<Setting> WithDictionaries(std::vector<Setting> settings) {
  std::vector<Setting> all;
  for (Setting& setting : settings) {
    if (!IsDictionary(setting)) {
      all.push_back(std::move(setting));
      continue;
    }
    for (Setting& inner : ReadJson(setting.values.front(), setting.where)) {
      inner.key = setting.key + "." + inner.key;
      all.push_back(std::move(inner));
    }
  }
  return all;
}

// As the Trainer does, refuses a number that is another one in DeepSpeed's part.
void CheckAgreement(const KeyTables& tables, const Setting& own, const UserConfig& engine) {
  for (const KeyRecord& record : tables.read) {
    if (own.key != record.key) continue;
    if (record.field != Field::kMicroBatch && record.field != Field::kAccumulation) return;
    const auto found = engine.fields.find(record.field);
    if (found != engine.fields.end() && found->second.values != own.values)
      throw CommandError(ExitCode::kBadInput, Describe(own) + ": differs from " +
                                                  Describe(found->second) +
                                                  "; \"auto\" there takes the arguments' value");
    return;
  }
}

// The Trainer compares DeepSpeed's numbers with its arguments' defaults too.
void NoteDefaults(const UserConfig& engine, UserConfig* config) {
  struct DefaultNumber {
    Field field;
    const char *argument, *number;
  };
  constexpr DefaultNumber kDefaults[] = {
      {Field::kMicroBatch, "per_device_train_batch_size", "8"},
      {Field::kAccumulation, "gradient_accumulation_steps", "1"}};
  for (const DefaultNumber& record : kDefaults) {
    const auto found = engine.fields.find(record.field);
    if (found == engine.fields.end() || found->second.values.front() == record.number ||
        config->fields.at(record.field).key == record.argument)
      continue;
    config->notes.push_back(Describe(found->second) + ": the Trainer refuses it unless " +
                            record.argument + ", which is " + record.number +
                            " by default, says the same.");
  }
}

const char* WhatIsIn(RunFile kind) {
  switch (kind) {
    case RunFile::kArguments:
      return "arguments";
    case RunFile::kAdapter:
      return "adapters";
    case RunFile::kLaunch:
      return "settings of accelerate";
  }
  return "";
}

}  // namespace

std::string FileNameOf(const std::string& path) {
  return path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
}

std::vector<Setting> NamedFile(const Setting& setting, const std::string& path) {
  const std::filesystem::path name = setting.values.front();
  if (path == "-" && name.is_relative())
    throw CommandError(ExitCode::kBadInput, Describe(setting) +
                                                ": must be an object or an absolute path where the "
                                                "arguments come by standard input");
  const std::filesystem::path file =
      name.is_absolute() ? name : std::filesystem::path(path).parent_path() / name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    throw CommandError(ExitCode::kBadInput,
                       Describe(setting) + ": there is no file " + file.string());
  const std::string text = ReadWholeFile(file.string(), kMaxNamedText);
  const std::string extension = file.extension().string();
  return extension == ".yaml" || extension == ".yml" ? ReadYaml(text, file.filename().string())
                                                     : ReadJson(text, file.filename().string());
}

// The Trainer fills "auto" in: from the arguments, or for buckets from the model
// (HfTrainerDeepSpeedConfig of transformers/integrations/deepspeed.py).
void SortEngine(std::vector<Setting> settings, UserConfig* config) {
  for (Setting& setting : settings) {
    const std::string name = setting.key;
    if (IsAuto(setting) && name != "zero_optimization.reduce_bucket_size") {
      ++config->irrelevant;
    } else {
      Sort(DeepSpeedKeys(), name, std::move(setting), config);
    }
  }
}

bool IsHuggingFace(const std::vector<Setting>& settings) {
  return HasKey(settings, "per_device_train_batch_size") || IsAdapter(settings);
}

bool IsHuggingFaceJson(const std::vector<Setting>& settings) {
  return IsHuggingFace(settings) || HasKey(settings, "output_dir");
}

void SortHuggingFace(std::vector<Setting> settings, const std::set<std::string>& nulls,
                     const std::string& path, UserConfig* config) {
  config->format = ConfigFormat::kHuggingFace;
  const bool adapter = IsAdapter(settings);
  const KeyTables& tables = adapter ? AdapterKeys() : TrainingArgumentsKeys();
  config->files[adapter ? RunFile::kAdapter : RunFile::kArguments] = FileNameOf(path);
  config->trl = !adapter && IsTrl(settings);
  config->keeps_lengths = nulls.count("max_length") > 0;
  std::vector<Setting> engine, own;
  for (Setting& setting : WithDictionaries(std::move(settings))) {
    if (IsUnset(setting)) {
      ++config->irrelevant;
    } else if (absl::StartsWith(setting.key, kEngine)) {
      setting.key.erase(0, sizeof(kEngine) - 1);
      engine.push_back(std::move(setting));
    } else if (setting.key == "deepspeed") {
      engine = NamedFile(setting, path);
    } else if (setting.key == "fsdp_config") {
      for (Setting& inner : NamedFile(setting, path)) {
        inner.key = kFsdpConfig + inner.key;
        own.push_back(std::move(inner));
      }
    } else {
      own.push_back(std::move(setting));
    }
  }
  config->uses_deepspeed = !engine.empty();
  SortEngine(std::move(engine), config);
  config->engine_optimizer = config->Has(Field::kOptimizer);
  const UserConfig of_engine = *config;
  for (Setting& setting : own) {
    // The Trainer takes this prefix off too.
    if (absl::StartsWith(setting.key, kFsdpPrefix))
      setting.key = kFsdpConfig + setting.key.substr(sizeof(kFsdpPrefix) - 1);
    const std::string name = setting.key;
    CheckAgreement(tables, setting, of_engine);
    if (name == "optim" && config->engine_optimizer) {
      ++config->irrelevant;
      continue;
    }
    Sort(tables, name, std::move(setting), config);
  }
  NoteDefaults(of_engine, config);
}

void Merge(UserConfig other, UserConfig* config) {
  for (const auto& [kind, name] : other.files)
    if (!config->files.emplace(kind, name).second)
      throw CommandError(ExitCode::kBadInput, name + ": " + config->files.at(kind) + " has the " +
                                                  WhatIsIn(kind) +
                                                  " of the run already: give one of them");
  const auto append = [](auto& from, auto& to) { to.insert(to.end(), from.begin(), from.end()); };
  append(other.used, config->used);
  append(other.meanings, config->meanings);
  append(other.not_predicted, config->not_predicted);
  append(other.unknown, config->unknown);
  append(other.notes, config->notes);
  for (auto& [field, setting] : other.fields) {
    const auto [found, added] = config->fields.emplace(field, setting);
    if (added || found->second.values == setting.values) continue;
    if (field != Field::kModelName)
      throw CommandError(ExitCode::kBadInput,
                         Describe(setting) + ": differs from " + Describe(found->second));
    // The arguments say which model is loaded, whatever the adapter was made for.
    if (other.files.count(RunFile::kArguments) > 0) std::swap(found->second, setting);
    config->notes.push_back("Model: " + Describe(found->second) + ", not " + Describe(setting) +
                            ".");
  }
  config->irrelevant += other.irrelevant;
  config->uses_deepspeed = config->uses_deepspeed || other.uses_deepspeed;
  config->engine_optimizer = config->engine_optimizer || other.engine_optimizer;
  config->trl = config->trl || other.trl;
  config->keeps_lengths = config->keeps_lengths || other.keeps_lengths;
}

}  // namespace evenkeel::cli
