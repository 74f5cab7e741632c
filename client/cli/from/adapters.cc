// Adapters of PEFT, and the frozen weights beside them.
#include <fmt/format.h>

#include <absl/strings/str_join.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "client/cli/exit_codes.h"
#include "client/cli/from/user_run.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

// What a name in target_modules stands for in the models of transformers. Modules with the same
// `set` are one target together; without one, the module is all that the target means.
struct TargetRecord {
  const char* module;
  v1::LoraTarget target;
  const char* set = nullptr;
};

constexpr TargetRecord kTargets[] = {{"q_proj", v1::LORA_TARGET_QKV, "qkv"},
                                     {"k_proj", v1::LORA_TARGET_QKV, "qkv"},
                                     {"v_proj", v1::LORA_TARGET_QKV, "qkv"},
                                     {"q_a_proj", v1::LORA_TARGET_QKV},
                                     {"q_b_proj", v1::LORA_TARGET_QKV},
                                     {"kv_a_proj_with_mqa", v1::LORA_TARGET_QKV},
                                     {"kv_b_proj", v1::LORA_TARGET_QKV},
                                     {"qkv_proj", v1::LORA_TARGET_QKV},
                                     {"query_key_value", v1::LORA_TARGET_QKV},
                                     {"c_attn", v1::LORA_TARGET_QKV},
                                     {"Wqkv", v1::LORA_TARGET_QKV},
                                     {"W_pack", v1::LORA_TARGET_QKV},
                                     {"o_proj", v1::LORA_TARGET_ATTENTION_OUT},
                                     {"out_proj", v1::LORA_TARGET_ATTENTION_OUT},
                                     {"gate_proj", v1::LORA_TARGET_MLP_UP, "gate and up"},
                                     {"up_proj", v1::LORA_TARGET_MLP_UP, "gate and up"},
                                     {"w1", v1::LORA_TARGET_MLP_UP, "w1 and w3"},
                                     {"w3", v1::LORA_TARGET_MLP_UP, "w1 and w3"},
                                     {"gate_up_proj", v1::LORA_TARGET_MLP_UP},
                                     {"fc1", v1::LORA_TARGET_MLP_UP},
                                     {"dense_h_to_4h", v1::LORA_TARGET_MLP_UP},
                                     {"down_proj", v1::LORA_TARGET_MLP_DOWN},
                                     {"w2", v1::LORA_TARGET_MLP_DOWN},
                                     {"fc2", v1::LORA_TARGET_MLP_DOWN},
                                     {"dense_4h_to_h", v1::LORA_TARGET_MLP_DOWN}};

std::string LastName(const std::string& module) {
  return module.substr(module.find_last_of('.') + 1);
}

void SetTargets(const UserConfig& config, v1::Lora* lora, UserRun* run) {
  std::set<std::string> modules;
  for (const std::string& module : config.List(Field::kLoraTargets))
    modules.insert(LastName(module));
  if (modules.empty())
    throw CommandError(ExitCode::kBadInput,
                       "the adapter has no target_modules: list them, or give \"all-linear\"");
  if (modules.count("all-linear") > 0) return;  // as the contract's default
  std::set<v1::LoraTarget> targets;
  for (const std::string& module : modules) {
    const auto* const found =
        std::find_if(std::begin(kTargets), std::end(kTargets),
                     [&](const TargetRecord& record) { return module == record.module; });
    if (found == std::end(kTargets)) {
      std::string known;
      for (const TargetRecord& record : kTargets) known += std::string(", ") + record.module;
      config.Refuse(Field::kLoraTargets,
                    "not yet: \"" + module + "\"; accepted: all-linear" + known);
    }
    targets.insert(found->target);
  }
  for (const v1::LoraTarget target : targets) lora->add_targets(target);
  std::vector<std::string> missing;
  for (const TargetRecord& record : kTargets) {
    const auto listed = [&](const TargetRecord& other) {
      return other.set != nullptr && record.set != nullptr &&
             std::string(other.set) == record.set && modules.count(other.module) > 0;
    };
    if (modules.count(record.module) == 0 &&
        std::any_of(std::begin(kTargets), std::end(kTargets), listed))
      missing.emplace_back(record.module);
  }
  if (!missing.empty())
    run->assumed.push_back(
        fmt::format("adapters: beside {} too, as one target holds them all: predicted memory and "
                    "time are slightly too high",
                    absl::StrJoin(missing, " and ")));
}

void SetSaved(const UserConfig& config, v1::Lora* lora) {
  for (const std::string& module : config.List(Field::kLoraSaved)) {
    const std::string name = LastName(module);
    if (name == "embed_tokens" || name == "wte" || name == "word_embeddings") {
      lora->set_train_embedding(true);
    } else if (name == "lm_head" || name == "embed_out") {
      lora->set_train_head(true);
    } else {
      config.Refuse(Field::kLoraSaved, "not yet: \"" + module +
                                           "\"; accepted: embed_tokens, wte, word_embeddings, "
                                           "lm_head, embed_out");
    }
  }
}

// Sets the 4 bits of bitsandbytes, whose fp4 is as large as nf4 and has the same kernels.
void SetFourBits(bool twice, const char* by, v1::Lora* lora, UserRun* run) {
  lora->set_base_format(twice ? v1::FROZEN_FORMAT_NF4_DOUBLE : v1::FROZEN_FORMAT_NF4);
  run->assumed.push_back(
      fmt::format("frozen weights: 4 bits{}, by {}", twice ? " with double quantization" : "", by));
}

// The arguments or the model's config.json may ask for 4 bits (BitsAndBytesConfig of transformers).
void SetBaseFormat(const UserConfig& arguments, const v1::Model& model, v1::Lora* lora,
                   UserRun* run) {
  if (arguments.On(Field::kLoads4Bit)) {
    const std::string type = arguments.Text(Field::kQuantType, "nf4");
    if (type != "nf4" && type != "fp4") arguments.Refuse(Field::kQuantType, "must be nf4 or fp4");
    return SetFourBits(arguments.On(Field::kNestedQuant), "the arguments", lora, run);
  }
  const Json config = Json::parse(model.config_json(), nullptr, /*allow_exceptions=*/false);
  if (!config.is_object() || !config.contains("quantization_config")) return;
  const Json& quantised = config["quantization_config"];
  const auto on = [&](const char* key) {
    return quantised.is_object() && quantised.contains(key) && quantised[key] == true;
  };
  if (on("load_in_8bit") || on("_load_in_8bit"))
    throw CommandError(ExitCode::kBadInput,
                       "quantization_config of the model: not yet: frozen weights in 8 bits; "
                       "accepted: load_in_4bit");
  if (on("load_in_4bit") || on("_load_in_4bit"))
    return SetFourBits(on("bnb_4bit_use_double_quant"), "the model's quantization_config", lora,
                       run);
  run->assumed.push_back(
      "frozen weights: 16 bits; of the model's quantization_config only load_in_4bit is read");
}

// TRL's ModelConfig has other defaults than PEFT.
struct AdapterDefaults {
  int64_t rank;
  double dropout;
};
constexpr AdapterDefaults kPeftDefaults = {8, 0}, kTrlDefaults = {16, .05};

}  // namespace

void SetAdapters(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const bool file = config.Has(Field::kAdapterType);
  if (!file && !config.On(Field::kUsesPeft)) {
    if (config.On(Field::kLoads4Bit))
      config.Refuse(Field::kLoads4Bit,
                    "weights of 4 bits train only with adapters: give an adapter_config.json");
    return;
  }
  if (file && config.Text(Field::kAdapterType) != "LORA")
    config.Refuse(Field::kAdapterType, "not yet: only LORA");
  const AdapterDefaults& defaults = file ? kPeftDefaults : kTrlDefaults;
  run->adapters = true;
  v1::Model* model = run->job.mutable_model();
  const auto named = [](const std::vector<std::string>& components) {
    return std::count(components.begin(), components.end(), "llm") > 0;
  };
  if (named(flags.freeze) && flags.lora.empty())
    config.Refuse(file ? Field::kAdapterType : Field::kUsesPeft,
                  "--freeze llm leaves it no component: --lora encoder places it there");
  if (!named(flags.freeze) && !named(flags.lora))
    model->set_language_model_train_mode(v1::TRAIN_MODE_LORA);
  v1::Lora* lora = model->mutable_lora();
  if (!flags.lora_rank)
    lora->set_rank(static_cast<int32_t>(config.Int(Field::kLoraRank, defaults.rank, 1, 4096)));
  if (!flags.lora_dropout && (config.Has(Field::kLoraDropout) || defaults.dropout > 0))
    lora->set_dropout_ratio(config.Real(Field::kLoraDropout, defaults.dropout));
  lora->clear_targets();
  SetTargets(config, lora, run);
  if (flags.lora_train.empty()) SetSaved(config, lora);
  if (flags.lora_base.empty()) SetBaseFormat(config, *model, lora, run);
}

}  // namespace evenkeel::cli
