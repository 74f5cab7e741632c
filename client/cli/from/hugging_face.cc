#include "client/cli/from/hugging_face.h"

#include <absl/strings/match.h>
#include <filesystem>
#include <utility>

#include "client/cli/byte_source.h"
#include "client/cli/exit_codes.h"
#include "client/cli/from/documents.h"
#include "client/cli/from/keys.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMaxEngineText = size_t{1} << 20;
constexpr char kEngine[] = "deepspeed.";

// Every file of PEFT names its method.
bool IsAdapter(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    if (setting.key == "peft_type") return true;
  return false;
}

// Returns the settings of the file that "deepspeed" names, beside `path`.
std::vector<Setting> EngineFile(const Setting& setting, const std::string& path) {
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
  return ReadJson(ReadWholeFile(file.string(), kMaxEngineText), file.filename().string());
}

void SortEngine(std::vector<Setting> settings, UserConfig* config) {
  for (Setting& setting : settings) {
    if (setting.values.size() == 1 && setting.values.front() == "auto") {
      ++config->irrelevant;
      continue;
    }
    const std::string name = setting.key;
    Sort(DeepSpeedKeys(), name, std::move(setting), config);
  }
}

}  // namespace

bool IsHuggingFace(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    if (setting.key == "per_device_train_batch_size" || setting.key == "output_dir") return true;
  return IsAdapter(settings);
}

void SortHuggingFace(std::vector<Setting> settings, const std::string& path, UserConfig* config) {
  config->format = ConfigFormat::kHuggingFace;
  const KeyTables& tables = IsAdapter(settings) ? AdapterKeys() : TrainingArgumentsKeys();
  std::vector<Setting> engine, own;
  for (Setting& setting : settings) {
    if (setting.values.empty()) {  // an empty list
      ++config->irrelevant;
    } else if (absl::StartsWith(setting.key, kEngine)) {
      setting.key.erase(0, sizeof(kEngine) - 1);
      engine.push_back(std::move(setting));
    } else if (setting.key == "deepspeed" && !setting.values.front().empty()) {
      engine = EngineFile(setting, path);
    } else {
      own.push_back(std::move(setting));
    }
  }
  config->uses_deepspeed = !engine.empty();
  SortEngine(std::move(engine), config);
  config->engine_optimizer = config->Has(Field::kOptimizer);
  for (Setting& setting : own) {
    const std::string name = setting.key;
    if (name == "optim" && config->engine_optimizer) {
      ++config->irrelevant;
      continue;
    }
    Sort(tables, name, std::move(setting), config);
  }
}

void Merge(UserConfig other, UserConfig* config) {
  const auto append = [](auto& from, auto& to) { to.insert(to.end(), from.begin(), from.end()); };
  append(other.used, config->used);
  append(other.meanings, config->meanings);
  append(other.not_predicted, config->not_predicted);
  append(other.unknown, config->unknown);
  append(other.notes, config->notes);
  for (auto& [field, setting] : other.fields) config->fields[field] = std::move(setting);
  config->irrelevant += other.irrelevant;
  config->uses_deepspeed = config->uses_deepspeed || other.uses_deepspeed;
  config->engine_optimizer = config->engine_optimizer || other.engine_optimizer;
}

}  // namespace evenkeel::cli
