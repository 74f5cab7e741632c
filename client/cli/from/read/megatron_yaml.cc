#include "client/cli/from/read/megatron_yaml.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"
#include "client/cli/from/read/named_files.h"
#include "client/cli/from/settings/keys.h"

namespace evenkeel::cli {
namespace {

[[noreturn]] void FailMegatronYaml(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, message);
}

// Reads the train section that "defaults: - train: NAME" of an experiment names.
std::vector<Setting> TrainSection(const std::vector<Setting>& experiment, const std::string& path) {
  for (const Setting& setting : experiment) {
    if (setting.key != "defaults.train" && setting.key != "train") continue;
    const std::string& name = setting.values.empty() ? setting.key : setting.values.front();
    if (name.find("..") != std::string::npos || absl::StartsWith(name, "/"))
      FailMegatronYaml(Describe(setting) + ": must name a file of the folder train");
    const std::filesystem::path file =
        std::filesystem::path(path).parent_path() / "train" / (name + ".yaml");
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored))
      FailMegatronYaml(Describe(setting) + ": there is no file " + file.string());
    return ReadYaml(ReadWholeFile(file.string(), kMaxConfigText), file.string());
  }
  return {};
}

bool IsOfExperiment(const std::string& key) {
  return absl::StartsWith(key, "experiment") || absl::StartsWith(key, "hydra") ||
         absl::StartsWith(key, "defaults") || key == "action" || key == "train" ||
         key == "compress";
}

// Returns whether the last name of its key is an option, as in "MODEL_ARGS.--micro-batch-size".
bool HasOptionAsKey(const Setting& setting) {
  return absl::StartsWith(setting.key.substr(setting.key.find_last_of('.') + 1), "--");
}

// Returns whether the key is one of Megatron-LM's tests (tests/functional_tests), next to
// MODEL_ARGS.
bool IsOfTest(const std::string& key) {
  return key == "TEST_TYPE" || key == "METRICS" || key == "LAUNCHER";
}

const Setting* SettingNamed(const std::vector<Setting>& settings, const std::string& key) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

bool HasSection(const std::vector<Setting>& settings, const std::string& name) {
  return std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
    return absl::StartsWith(setting.key, name + ".");
  });
}

// Refuses adapters (megatron/bridge/peft), which train other weights than all.
void CheckBridgeAdapters(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    const std::string word =
        setting.values.size() == 1 ? absl::AsciiStrToLower(setting.values.front()) : "";
    const bool off = setting.key == "peft" && (word == "none" || word == "false" || word.empty());
    if (!off && (setting.key == "peft" || absl::StartsWith(setting.key, "peft.")))
      FailMegatronYaml(Describe(setting) +
                       ": not yet: peft, adapters of Megatron-Bridge; accepted: peft null, which "
                       "trains all weights");
  }
}

// The data's length must be the model's, which it stands for where the model has none
// (ConfigContainer.validate() of megatron/bridge/training/config.py). Returns whether the setting
// is the data's.
bool TakeBridgeLength(const std::vector<Setting>& settings, const Setting& setting,
                      std::vector<Setting>* out) {
  if (setting.key != "dataset.sequence_length" && setting.key != "dataset.seq_length") return false;
  const Setting* const of_model = SettingNamed(settings, "model.seq_length");
  if (of_model != nullptr && of_model->values != setting.values)
    FailMegatronYaml(Describe(setting) + ": differs from " + Describe(*of_model) +
                     ": the trainer refuses both");
  if (of_model == nullptr)
    out->push_back({"seq_length", setting.values, setting.where, setting.key, setting.values});
  return true;
}

// Returns the fields of Megatron-LM's names that say the same: Megatron-Bridge names what is shared
// where Megatron-LM names what is not, and whole recipes of precision (mixed_precision.py of
// megatron/bridge/training).
std::vector<Setting> BridgeSettings(const std::vector<Setting>& settings) {
  std::vector<Setting> out;
  for (const Setting& setting : settings) {
    const std::string key = MegatronKey(setting.key);
    const std::string word =
        setting.values.size() == 1 ? absl::AsciiStrToLower(setting.values.front()) : "";
    const auto add = [&](const char* name, const char* value) {
      out.push_back({name, {value}, setting.where, setting.key, setting.values});
    };
    if (TakeBridgeLength(settings, setting, &out)) continue;
    if (key == "share-embeddings-and-output-weights") {
      if (word == "false") add("untie_embeddings_and_output_weights", "true");
    } else if (key == "grad-reduce-in-fp32" && word == "false") {
      add("grad_reduce_in_bf16", "true");
    } else if (key == "mixed-precision" && !word.empty()) {
      add(absl::StrContains(word, "fp16") ? "fp16" : "bf16", "true");
      for (const auto& [part, format, recipe] :
           {std::tuple("mxfp8", "e4m3", "mxfp8"), std::tuple("fp8_delayed", "hybrid", "delayed"),
            std::tuple("fp8_current", "hybrid", "tensorwise"),
            std::tuple("fp8_subchannel", "e4m3", "blockwise")}) {
        if (!absl::StrContains(word, part)) continue;
        add("fp8_format", format);
        add("fp8_recipe", recipe);
      }
      if (absl::StrContains(word, "nvfp4")) add("fp4_format", "e2m1");
    } else {
      out.push_back(setting);
    }
  }
  return out;
}

// Returns what Megatron-LM calls a fusion that the key turns off, or "" if it turns off none.
std::string WithoutFusion(const std::string& key) {
  if (key == "bias-swiglu-fusion" || key == "bias-activation-fusion")
    return "no-bias-swiglu-fusion";
  if (key == "apply-rope-fusion") return "no-rope-fusion";
  if (key == "gradient-accumulation-fusion") return "no-gradient-accumulation-fusion";
  if (key == "store-param-remainders") return "no-store-param-remainders";
  return "";
}

// Returns whether Megatron-Bridge wrote the configuration, which is then whole.
bool IsWrittenByBridge(const std::vector<Setting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return absl::EndsWith(setting.key, "_target_") && setting.values.size() == 1 &&
           absl::StartsWith(setting.values.front(), "megatron.bridge");
  });
}

// Returns whether the configuration is Megatron-Bridge's: one that it wrote, or one of overrides,
// which has sections of its ConfigContainer that FlagScale does not have.
bool IsOfBridge(const std::vector<Setting>& settings) {
  const bool overrides = HasSection(settings, "model") && HasSection(settings, "train") &&
                         (HasSection(settings, "ddp") || HasSection(settings, "dist") ||
                          HasSection(settings, "mixed_precision") ||
                          SettingNamed(settings, "mixed_precision") != nullptr);
  const auto of_flagscale = [](const Setting& setting) {
    return absl::StartsWith(setting.key, "train.system.") ||
           absl::StartsWith(setting.key, "system.") ||
           absl::StartsWith(setting.key, "experiment") || absl::StartsWith(setting.key, "defaults");
  };
  if (overrides && std::none_of(settings.begin(), settings.end(), of_flagscale)) return true;
  return IsWrittenByBridge(settings);
}

// Overrides change a recipe, a Python function of megatron.bridge.recipes that gives all the rest.
// Takes the keys that name it, and notes that it is not read.
void NoteRecipe(std::vector<Setting>* settings, UserConfig* config) {
  if (IsWrittenByBridge(*settings)) return;
  std::vector<std::string> names;
  std::erase_if(*settings, [&](const Setting& setting) {
    if (setting.key != "recipe" && setting.key != "flavor") return false;
    names.push_back(absl::StrJoin(setting.values, " "));
    ++config->irrelevant;
    return true;
  });
  config->left_out = absl::StrCat(
      "The file changes a recipe of Megatron-Bridge",
      names.empty() ? ", which it does not name" : " (" + absl::StrJoin(names, " ") + ")",
      ": settings that are not in the file are defaults here, not those of the recipe. The "
      "ConfigContainer that Megatron-Bridge writes has them all.");
  config->notes.push_back(config->left_out);
}

}  // namespace

UserConfig ReadMegatronYaml(std::vector<Setting> settings, const std::string& path,
                            std::optional<ConfigFormat> wanted) {
  UserConfig config{.format = ConfigFormat::kMegatron, .syntax = Syntax::kMegatronYaml};
  if (wanted != ConfigFormat::kFlagScale &&
      (wanted == ConfigFormat::kMegatronBridge || IsOfBridge(settings))) {
    config.format = ConfigFormat::kMegatronBridge;
    CheckBridgeAdapters(settings);
    NoteRecipe(&settings, &config);
    settings = BridgeSettings(settings);
  }
  const std::vector<Setting> train = TrainSection(settings, path);
  bool sections = !train.empty();
  for (const Setting& setting : settings)
    sections = sections || absl::StartsWith(setting.key, "experiment.") ||
               absl::StartsWith(setting.key, "system.") || absl::StartsWith(setting.key, "train.");
  if (config.format == ConfigFormat::kMegatron &&
      (wanted == ConfigFormat::kFlagScale || (!wanted && sections)))
    config.format = ConfigFormat::kFlagScale;
  settings.insert(settings.end(), train.begin(), train.end());
  if (std::any_of(settings.begin(), settings.end(), HasOptionAsKey))
    config.syntax = Syntax::kOptionYaml;
  for (Setting& setting : settings) {
    std::string key = MegatronKey(setting.key);
    const bool counts = key == "nnodes" || key == "nproc-per-node";
    bool off =
        setting.values.size() == 1 && absl::EqualsIgnoreCase(setting.values.front(), "false");
    if (const std::string without = WithoutFusion(key); off && !without.empty()) {
      key = without;
      setting.values = {"true"};
      off = false;
    }
    const bool aside =
        IsOfExperiment(setting.key) && config.format != ConfigFormat::kMegatronBridge;
    if ((aside && !counts) || off || absl::EndsWith(setting.key, "_target_") ||
        absl::StartsWith(setting.key, "ENV_VARS.") || IsOfTest(setting.key)) {
      ++config.irrelevant;
    } else {
      Sort(MegatronKeys(), key, std::move(setting), &config);
    }
  }
  return config;
}

}  // namespace evenkeel::cli
