#include "client/cli/from/read/hugging_face.h"

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <algorithm>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"
#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/read/named_files.h"
#include "client/cli/from/settings/keys.h"

namespace evenkeel::cli {
namespace {

constexpr char kEngine[] = "deepspeed.";
constexpr char kFsdpConfig[] = "fsdp_config.";
constexpr char kFsdpPrefix[] = "fsdp_config.fsdp_";

// Keys that TrainingArguments do not have: of TRL's SFTConfig (trl/trainer/sft_config.py), and of
// its ModelConfig and ScriptArguments.
constexpr const char* kTrlKeys[] = {"max_length",
                                    "packing",
                                    "packing_strategy",
                                    "padding_free",
                                    "eval_packing",
                                    "pad_to_multiple_of",
                                    "dataset_text_field",
                                    "dataset_num_proc",
                                    "assistant_only_loss",
                                    "completion_only_loss",
                                    "use_peft",
                                    "lora_modules_to_save",
                                    "chat_template_path",
                                    "dataset_config",
                                    "dataset_streaming",
                                    "use_bnb_nested_quant",
                                    "dataset_train_split"};

// Keys of programs around a Trainer. One alone may be another program's.
constexpr const char* kMarks[] = {"dataset_name",
                                  "use_peft",
                                  "num_train_epochs",
                                  "output_dir",
                                  "gradient_accumulation_steps",
                                  "gradient_checkpointing",
                                  "deepspeed",
                                  "fsdp",
                                  "fsdp_config"};

bool HasKey(const std::vector<Setting>& settings, const std::string& key) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const Setting& setting) { return setting.key == key; });
}

// A dictionary may be written as a word, as on a command line. A chat template, which begins with
// "{" too, is not one.
bool IsDictionary(const Setting& setting) {
  constexpr const char* kDictionaries[] = {"deepspeed", "fsdp_config", "accelerator_config",
                                           "liger_kernel_config", "parallelism_config"};
  const bool may_be =
      absl::EndsWith(setting.key, "_kwargs") ||
      std::count(std::begin(kDictionaries), std::end(kDictionaries), setting.key) > 0;
  return may_be && setting.values.size() == 1 && absl::StartsWith(setting.values.front(), "{");
}

// Every file of PEFT names its method.
bool IsAdapter(const std::vector<Setting>& settings) { return HasKey(settings, "peft_type"); }

// Releases that have max_seq_length, before 0.20, have the defaults of TrainingArguments.
bool IsTrl(bool command, const std::vector<Setting>& settings) {
  return !HasKey(settings, "max_seq_length") &&
         (command || std::any_of(std::begin(kTrlKeys), std::end(kTrlKeys),
                                 [&](const char* key) { return HasKey(settings, key); }));
}

bool IsMinusOne(const Setting& setting) {
  return setting.values.size() == 1 && setting.values.front() == "-1";
}

// An empty list or word, or the default of TrainingArguments that stands for none.
bool IsUnset(const Setting& setting) {
  return setting.values.empty() || (setting.values.size() == 1 && setting.values.front().empty()) ||
         (setting.key == "max_steps" && IsMinusOne(setting));
}

// Refuses -1 for a key that is read, none of which takes it.
void CheckMinusOne(const KeyTables& tables, const Setting& setting) {
  if (!IsMinusOne(setting)) return;
  for (const KeyRecord& record : tables.read)
    if (setting.key == record.key)
      throw CommandError(
          ExitCode::kBadInput,
          Describe(setting) + ": -1 does not stand for the default here: leave it out for that");
}

// Writes dictionaries out, one setting for each key.
std::vector<Setting> WithDictionaries(std::vector<Setting> settings) {
  std::vector<Setting> all;
  for (Setting& setting : settings) {
    if (!IsDictionary(setting)) {
      all.push_back(std::move(setting));
      continue;
    }
    for (Setting& inner : ReadJsonPart(setting.values.front(), setting.where)) {
      inner.key = setting.key + "." + inner.key;
      all.push_back(std::move(inner));
    }
  }
  return all;
}

void NoteSaid(const KeyTables& tables, const std::string& name, UserConfig* config) {
  for (const KeyRecord& record : tables.read)
    if (name == record.key) config->said.insert(record.field);
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

// Says which of the front end's defaults count, where nothing else is said. Those of adapters need
// adapters.
void SetDefaults(const FrontEnd& front_end, UserConfig* config) {
  std::vector<const char*> said;
  for (const auto& [key, value, written] : front_end.defaults) {
    for (const KeyRecord& record : TrainingArgumentsKeys().read) {
      if (std::string(key) != record.key || config->Has(record.field)) continue;
      const bool of_adapters =
          record.field == Field::kLoraRank || record.field == Field::kLoraTargets ||
          record.field == Field::kLoraDropout || record.field == Field::kNestedQuant;
      if (of_adapters && !config->On(Field::kUsesPeft)) continue;
      if (record.field == Field::kNestedQuant && !config->On(Field::kLoads4Bit)) continue;
      if (record.field == Field::kBf16 && config->On(Field::kFp16)) continue;
      config->fields[record.field] = {key, {value}, std::string(front_end.title) + "'s default"};
      config->said.insert(record.field);
      if (written != nullptr) said.push_back(written);
    }
  }
  if (!said.empty())
    config->notes.push_back(std::string(front_end.title) +
                            "'s defaults: " + absl::StrJoin(said, ", ") + ".");
}

}  // namespace

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
        config->said.count(record.field) > 0)
      continue;
    config->notes.push_back(Describe(found->second) + ": the Trainer refuses it unless " +
                            record.argument + ", which is " + record.number +
                            " by default, says the same.");
  }
}

bool IsAuto(const Setting& setting) {
  return setting.values.size() == 1 && setting.values.front() == "auto";
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
  if (HasKey(settings, "per_device_train_batch_size") || IsAdapter(settings) ||
      FrontEndOf(settings) != nullptr)
    return true;
  // Batches have a default.
  return HasKey(settings, "model_name_or_path") &&
         std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](const char* key) { return HasKey(settings, key); });
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
  const FrontEnd* const front_end = adapter ? nullptr : FrontEndOf(settings);
  if (front_end != nullptr) {
    settings = front_end->translate(settings, config);
    config->front_end = front_end;
  }
  config->trl = !adapter && IsTrl(config->trl, settings);
  config->keeps_lengths = config->keeps_lengths || nulls.count("max_length") > 0;
  std::vector<Setting> engine, own;
  for (Setting& setting : WithDictionaries(std::move(settings))) {
    if (IsUnset(setting)) {
      ++config->irrelevant;
    } else if (absl::StartsWith(setting.key, kEngine)) {
      setting.key.erase(0, sizeof(kEngine) - 1);
      engine.push_back(std::move(setting));
    } else if (setting.key == "deepspeed") {
      if (setting.values == std::vector<std::string>{"true"})
        throw CommandError(
            ExitCode::kBadInput,
            Describe(setting) +
                ": names no file; as a switch it is DeepSpeed's own, of programs that are not "
                "Hugging Face's Trainer, such as DeepSpeed-Chat's: these are not read");
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
  config->uses_deepspeed = config->engine_file = !engine.empty();
  SortEngine(std::move(engine), config);
  config->engine_optimizer = config->Has(Field::kOptimizer);
  const UserConfig of_engine = *config;
  for (Setting& setting : own) {
    // The Trainer takes this prefix off too.
    if (absl::StartsWith(setting.key, kFsdpPrefix))
      setting.key = kFsdpConfig + setting.key.substr(sizeof(kFsdpPrefix) - 1);
    const std::string name = setting.key;
    CheckMinusOne(tables, setting);
    CheckAgreement(tables, setting, of_engine);
    if (name == "optim" && config->engine_optimizer) {
      ++config->irrelevant;
      continue;
    }
    const bool its_own =
        front_end != nullptr && setting.written.empty() && Knows(front_end->keys, name);
    Sort(its_own ? front_end->keys : tables, name, std::move(setting), config);
    NoteSaid(tables, name, config);
  }
  if (front_end != nullptr) SetDefaults(*front_end, config);
  NoteDefaults(of_engine, config);
}

}  // namespace evenkeel::cli
