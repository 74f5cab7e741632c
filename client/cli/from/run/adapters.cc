#include "client/cli/from/run/adapters.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <re2/re2.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "client/cli/base/command_error.h"

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

// What PEFT gives adapters where no modules are named, by model_type
// (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING of peft/utils/constants.py).
struct DefaultRecord {
  const char *types, *modules;
};
constexpr DefaultRecord kDefaultTargets[] = {
    {"llama llama4 mistral mixtral qwen2 qwen3 gemma gemma2 gemma3_text stablelm opt gptj gpt_neo",
     "q_proj v_proj"},
    {"gpt_neox bloom falcon chatglm RefinedWeb RefinedWebModel", "query_key_value"},
    {"gpt2 gpt_bigcode", "c_attn"},
    {"mpt", "Wqkv"},
    {"codegen", "qkv_proj"},
    {"phi", "q_proj v_proj fc1 fc2"}};

// The model_type of models that a name tells apart. The first part of a name that is there counts;
// without a type, PEFT has no default, or the name leaves it open.
struct TypeRecord {
  const char *part, *type;
};
constexpr TypeRecord kTypes[] = {{"gpt-oss", "gpt_oss"},
                                 {"llama-4", "llama4"},
                                 {"llama4", "llama4"},
                                 {"qwen3-vl-30b", "qwen3_vl_moe"},
                                 {"qwen3-vl-235b", "qwen3_vl_moe"},
                                 {"qwen3.5-35b", "qwen3_5_moe"},
                                 {"qwen3.5-122b", "qwen3_5_moe"},
                                 {"qwen3.5-397b", "qwen3_5_moe"},
                                 {"dbrx", "dbrx"},
                                 {"vl", ""},
                                 {"vision", ""},
                                 {"llava", ""},
                                 {"-a3b", ""},
                                 {"-a14b", ""},
                                 {"-a22b", ""},
                                 {"-a35b", ""},
                                 {"moe", ""},
                                 {"llama", "llama"},
                                 {"vicuna", "llama"},
                                 {"smollm2", "llama"},
                                 {"mixtral", "mixtral"},
                                 {"mistral-7b", "mistral"},
                                 {"zephyr-7b", "mistral"},
                                 {"qwen1.5-", "qwen2"},
                                 {"qwen2-", "qwen2"},
                                 {"qwen2.5-", "qwen2"},
                                 {"qwen3-next", ""},
                                 {"qwen3-", "qwen3"},
                                 {"gemma-2-", "gemma2"},
                                 {"gemma-2b", "gemma"},
                                 {"gemma-7b", "gemma"},
                                 {"opt-", "opt"},
                                 {"bloom", "bloom"},
                                 {"falcon-7b", "falcon"},
                                 {"falcon-40b", "falcon"},
                                 {"gpt2", "gpt2"},
                                 {"pythia", "gpt_neox"},
                                 {"mpt-", "mpt"},
                                 {"phi-1", "phi"},
                                 {"phi-2", "phi"}};

std::string TypeOf(const v1::Model& model) {
  const Json config = Json::parse(model.config_json(), nullptr, /*allow_exceptions=*/false);
  if (config.is_object()) {
    const Json type = config.value("model_type", Json(""));
    return type.is_string() ? type.get<std::string>() : "";
  }
  std::string name = model.has_language_model() ? model.language_model().catalog_name() : "";
  if (name.empty()) name = model.name();
  name = absl::AsciiStrToLower(name.substr(name.find_last_of('/') + 1));
  for (const TypeRecord& record : kTypes)
    if (absl::StrContains(name, record.part)) return record.type;
  return "";
}

bool HasWord(const char* words, const std::string& word) {
  const std::vector<std::string> all = absl::StrSplit(words, ' ');
  return std::count(all.begin(), all.end(), word) > 0;
}

// Returns what PEFT takes for the model. `key` is the one that would name the modules.
std::set<std::string> DefaultModules(const UserConfig& config, const char* key, UserRun* run) {
  const std::string type = TypeOf(run->job.model());
  for (const DefaultRecord& record : kDefaultTargets) {
    if (!HasWord(record.types, type)) continue;
    const std::vector<std::string> modules = absl::StrSplit(record.modules, ' ');
    run->assumed.push_back(fmt::format("adapters: on {}, PEFT's default for {}",
                                       absl::StrJoin(modules, " and "), type));
    return {modules.begin(), modules.end()};
  }
  config.Refuse(config.Has(Field::kAdapterType) ? Field::kAdapterType : Field::kUsesPeft,
                fmt::format("needs {}, such as all-linear, as PEFT's default for this model is not "
                            "known here",
                            key));
}

// Returns the known modules of language models whose full names match a pattern of Python's re, as
// PEFT's re.fullmatch finds them in some layer; none if RE2 cannot read the pattern.
std::vector<std::string> Matching(const std::string& pattern) {
  const RE2 expression(pattern, RE2::Quiet);
  if (!expression.ok()) return {};
  const auto matches = [&](const char* module) {
    // The fourth are those of SmolVLM and Idefics3.
    for (const char* layers :
         {"model.layers", "model.language_model.layers", "language_model.model.layers",
          "model.text_model.layers", "transformer.h"})
      for (const int layer : {0, 1, 2, 3, 5, 7})
        for (const char* parent : {"self_attn", "mlp", "mlp.experts.0", "attention", "linear_attn"})
          if (RE2::FullMatch(fmt::format("{}.{}.{}.{}", layers, layer, parent, module), expression))
            return true;
    return false;
  };
  std::vector<std::string> names;
  for (const TargetRecord& record : kTargets)
    if (matches(record.module)) names.emplace_back(record.module);
  return names;
}

// Returns the modules that a setting names, by their last names or by a pattern.
std::vector<std::string> LastNames(const std::string& module) {
  if (module.find_first_of("()[]|\\*+?^$") == std::string::npos) return {LastName(module)};
  std::vector<std::string> names = Matching(module);
  if (names.empty()) names.push_back(module);
  return names;
}

// Types whose experts are tensors of their own in every release of transformers that has them
// (classes called ...Experts in modeling_*.py, 4.56 and 5.16), and which PEFT does not turn into
// target_parameters, as it does for the types of _MODEL_TO_CONVERSION_PATTERN
// (peft/utils/transformers_weight_conversion.py, 0.21).
struct ExpertsRecord {
  const char* types;
  bool other_mlps = false;  // dense ones or shared experts, which are linear layers
};
constexpr ExpertsRecord kExpertTensors[] = {
    {"gpt_oss qwen3_vl_moe qwen3_vl_moe_text granitemoe dbrx"},
    {"llama4 llama4_text qwen3_5_moe qwen3_5_moe_text granitemoeshared ernie4_5_vl_moe mistral4 "
     "minimax_m3_vl",
     true}};

const ExpertsRecord* ExpertTensorsOf(const std::string& type) {
  for (const ExpertsRecord& record : kExpertTensors)
    if (HasWord(record.types, type)) return &record;
  return nullptr;
}

// "all-linear" is the contract's default, except where experts are no linear layers.
void SetAllLinear(v1::Lora* lora, UserRun* run) {
  const std::string type = TypeOf(run->job.model());
  const ExpertsRecord* const experts = ExpertTensorsOf(type);
  if (experts == nullptr) return;
  lora->add_targets(v1::LORA_TARGET_QKV);
  lora->add_targets(v1::LORA_TARGET_ATTENTION_OUT);
  run->assumed.push_back(fmt::format(
      "adapters: none on the experts, which are no linear layers in {}{}", type,
      experts->other_mlps ? "; those of other MLPs are left out too, so that predicted memory and "
                            "time are slightly too low"
                          : ""));
}

// Takes out targets that name only experts which are no linear layers: names match none of them.
void LeaveOutExperts(const UserConfig& config, UserRun* run, std::set<v1::LoraTarget>* targets) {
  const std::string type = TypeOf(run->job.model());
  const ExpertsRecord* const experts = ExpertTensorsOf(type);
  if (experts == nullptr || experts->other_mlps) return;
  if (targets->erase(v1::LORA_TARGET_MLP_UP) + targets->erase(v1::LORA_TARGET_MLP_DOWN) == 0)
    return;
  if (targets->empty())
    config.Refuse(Field::kLoraTargets,
                  fmt::format("the experts of {} are no linear layers: none has adapters", type));
  run->assumed.push_back("adapters: none on the experts, which are no linear layers in " + type);
}

void SetTargets(const UserConfig& config, v1::Lora* lora, UserRun* run) {
  std::set<std::string> modules;
  for (const std::string& module : config.List(Field::kLoraTargets))
    for (const std::string& name : LastNames(module)) modules.insert(name);
  if (modules.empty())
    modules = DefaultModules(
        config, config.Has(Field::kAdapterType) ? "target_modules" : "lora_target_modules", run);
  if (modules.count("all-linear") > 0) return SetAllLinear(lora, run);
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
  LeaveOutExperts(config, run, &targets);
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
        fmt::format("adapters: next to {} too, as one target holds them all: predicted memory and "
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

void SetEightBits(const char* by, v1::Lora* lora, UserRun* run) {
  lora->set_base_format(v1::FROZEN_FORMAT_INT8);
  run->assumed.push_back(std::string("frozen weights: 8 bits, by ") + by +
                         "; the time of their products is not measured");
}

// The arguments or the model's config.json may ask for few bits (BitsAndBytesConfig of
// transformers).
void SetBaseFormat(const UserConfig& arguments, const v1::Model& model, v1::Lora* lora,
                   UserRun* run) {
  const bool few_bits = arguments.Int(Field::kBits, 16, 4, 32) == 4;
  // These two have double quantization unless it is turned off (FastChat has no key for it).
  const bool twice = few_bits || arguments.On(Field::kProgramQLora);
  if (arguments.On(Field::kLoads4Bit) || twice) {
    const std::string type = arguments.Text(Field::kQuantType, "nf4");
    if (type != "nf4" && type != "fp4") arguments.Refuse(Field::kQuantType, "must be nf4 or fp4");
    return SetFourBits(arguments.On(Field::kNestedQuant, twice), "the arguments", lora, run);
  }
  if (arguments.On(Field::kLoads8Bit) || arguments.Int(Field::kBits, 16, 4, 32) == 8)
    return SetEightBits("the arguments", lora, run);
  if (run->four_bit_weights) return SetFourBits(/*twice=*/true, "the model's name", lora, run);
  const Json config = Json::parse(model.config_json(), nullptr, /*allow_exceptions=*/false);
  if (!config.is_object() || !config.contains("quantization_config")) return;
  const Json& quantised = config["quantization_config"];
  const auto on = [&](const char* key) {
    return quantised.is_object() && quantised.contains(key) && quantised[key] == true;
  };
  if (on("load_in_8bit") || on("_load_in_8bit"))
    return SetEightBits("the model's quantization_config", lora, run);
  if (on("load_in_4bit") || on("_load_in_4bit"))
    return SetFourBits(on("bnb_4bit_use_double_quant"), "the model's quantization_config", lora,
                       run);
  run->assumed.push_back(
      "frozen weights: 16 bits; of the model's quantization_config only load_in_4bit and "
      "load_in_8bit are read");
}

// TRL's ModelConfig has other defaults than PEFT.
struct AdapterDefaults {
  int64_t rank;
  double dropout;
};
constexpr AdapterDefaults kPeftDefaults = {8, 0}, kTrlDefaults = {16, .05};

// Returns whether a setting asks for something: true, or a rank.
bool Asks(const UserConfig& config, Field field) {
  if (!config.Has(field)) return false;
  const std::vector<std::string> values = config.List(field);
  const std::string text = values.empty() ? "true" : absl::AsciiStrToLower(values.front());
  return text != "false" && text != "0" && text != "no" && text != "none" && !text.empty();
}

// Without an adapter and use_peft, nothing may ask for adapters.
void CheckNoAdapters(const UserConfig& config, UserRun* run) {
  constexpr char kGiveFile[] = "PEFT's adapter_config.json by another --from";
  for (const Field field : {Field::kProgramLora, Field::kProgramQLora, Field::kEncoderLora})
    if (Asks(config, field))
      config.Refuse(field, std::string("adapters that the program adds: give ") + kGiveFile);
  const bool few_bits = config.Int(Field::kBits, 16, 4, 32) < 16;
  const Field asks = few_bits                       ? Field::kBits
                     : config.On(Field::kLoads4Bit) ? Field::kLoads4Bit
                     : config.On(Field::kLoads8Bit) ? Field::kLoads8Bit
                                                    : Field::kModelName;
  if (asks != Field::kModelName || run->four_bit_weights)
    config.Refuse(asks, std::string("weights of 4 or 8 bits train only with adapters: with TRL set "
                                    "use_peft; for other programs give ") +
                            kGiveFile);
  // q_lora alone says little: FastChat's train_lora.py always adds adapters, and has 4 bits with
  // it.
  for (const Field field : {Field::kLoraRank, Field::kLoraTargets, Field::kLoraSaved,
                            Field::kLoraDropout, Field::kProgramQLora}) {
    if (!config.Has(field)) continue;
    const std::string& key = config.fields.at(field).key;
    for (const Field off : {Field::kUsesPeft, Field::kProgramLora}) {
      if (!config.Has(off)) continue;
      run->assumed.push_back(fmt::format("adapters: none, as {} is off; {} has no effect",
                                         config.fields.at(off).key, key));
      return;
    }
    config.Refuse(field, std::string("without use_peft: if the program adds adapters, give ") +
                             kGiveFile + "; if it does not, say use_peft false");
  }
}

}  // namespace

void SetAdapters(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  const bool file = config.Has(Field::kAdapterType);
  if (!file && !config.On(Field::kUsesPeft)) return CheckNoAdapters(config, run);
  if (file && config.Text(Field::kAdapterType) != "LORA")
    config.Refuse(Field::kAdapterType, "not yet: only LORA");
  if (Asks(config, Field::kEncoderLora) && flags.lora.empty())
    config.Refuse(Field::kEncoderLora, "adapters of the encoder: say --lora encoder");
  if (const int64_t bits = config.Int(Field::kBits, 16, 4, 32); bits != 4 && bits != 8 && bits < 16)
    config.Refuse(Field::kBits, "not yet: frozen weights of this width; accepted: 4, 8, 16");
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
