// Published runs as other sources write them: other names of keys, numbers as text, other spellings
// of precisions, trainers, recompute and adapters. Turned into the words of tests/validation/runs.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <regex>

#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

struct OtherNames {
  const char* ours;
  std::array<const char*, 4> theirs;
};

constexpr std::array kRowNames = {
    OtherNames{"tp",
               {"tensor_parallel", "tensor_parallel_size", "tensor_model_parallel_size", "TP"}},
    OtherNames{
        "pp",
        {"pipeline_parallel", "pipeline_parallel_size", "pipeline_model_parallel_size", "PP"}},
    OtherNames{"cp", {"context_parallel", "context_parallel_size", "CP", ""}},
    OtherNames{"dp", {"data_parallel", "data_parallel_size", "DP", ""}},
    OtherNames{"ep",
               {"expert_parallel", "expert_parallel_size", "expert_model_parallel_size", "EP"}},
    OtherNames{"etp", {"expert_tensor_parallel", "expert_tensor_parallel_size", "ETP", ""}},
    OtherNames{"vpp", {"virtual_pipeline", "virtual_pipeline_model_parallel_size", "VPP", ""}},
    OtherNames{"micro_batch", {"micro_batch_size", "mbs", "micro_bs", "MBS"}},
    OtherNames{"global_batch", {"global_batch_size", "gbs", "GBS", ""}},
    OtherNames{"grad_accum",
               {"gradient_accumulation_steps", "grad_accumulation", "gradient_accumulation", ""}},
    OtherNames{"seq_len", {"seq_length", "sequence_length", "seqlen", "max_seq_len"}},
    OtherNames{"gpus", {"num_gpus", "n_gpus", "world_size", "gpu_count"}},
    OtherNames{"zero", {"zero_stage", "", "", ""}},
    OtherNames{"precision", {"dtype", "", "", ""}},
    OtherNames{"recompute",
               {"activation_recompute", "activation_checkpointing", "recomputation", ""}},
    OtherNames{"gpu", {"gpu_type", "accelerator", "gpu_name", ""}}};
constexpr std::array kModelNames = {
    OtherNames{"layers", {"num_layers", "num_hidden_layers", "n_layers", ""}},
    OtherNames{"hidden", {"hidden_size", "d_model", "dim", ""}},
    OtherNames{"heads", {"num_attention_heads", "n_heads", "num_heads", ""}},
    OtherNames{"kv_heads", {"num_query_groups", "num_key_value_heads", "n_kv_heads", ""}},
    OtherNames{"ffn", {"ffn_hidden_size", "intermediate_size", "", ""}},
    OtherNames{"vocab", {"vocab_size", "padded_vocab_size", "vocabulary", ""}}};
constexpr std::array kExpertNames = {
    OtherNames{"experts", {"num_experts", "n_routed_experts", "num_local_experts", ""}},
    OtherNames{"topk", {"top_k", "moe_router_topk", "num_experts_per_tok", ""}},
    OtherNames{"expert_ffn", {"moe_intermediate_size", "moe_ffn_hidden_size", "", ""}}};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Returns a value as a number where it is text that has one, such as "2,048", or a whole number
// with a fraction of 0.
Json Number(const Json& value) {
  if (value.is_string()) {
    std::string digits = value.get<std::string>();
    if (!std::regex_match(digits, std::regex("-?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)(\\.[0-9]+)?")))
      return value;
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    return Number(std::strtod(digits.c_str(), nullptr));
  }
  if (!value.is_number_float()) return value;
  const double number = value.get<double>();
  constexpr double kExact = 9e15;
  if (number < -kExact || number > kExact ||
      number != static_cast<double>(static_cast<int64_t>(number)))
    return value;
  return static_cast<int64_t>(number);
}

template <typename Names>
void Rename(const Names& names, Json& object) {
  if (!object.is_object()) return;
  for (const OtherNames& name : names) {
    for (const char* other : name.theirs) {
      if (*other == '\0' || !object.contains(other) || !Child(object, name.ours).empty()) continue;
      object[name.ours] = object[other];
    }
  }
}

void NumbersOf(Json& object) {
  if (!object.is_object()) return;
  for (auto& [key, value] : object.items()) {
    if (key != "id" && key != "name" && key != "group" && key != "date" && key != "version")
      value = Number(value);
  }
}

// Trainers that run Hugging Face's Trainer with their own data and settings.
bool RunsHuggingFace(const std::string& name) {
  return name == "trl" || name == "llama-factory" || name == "axolotl" || name == "ms-swift" ||
         name == "hf-trainer" || name == "hugging-face-trainer" || name == "transformers";
}

std::string TrainerName(std::string name) {
  name = std::regex_replace(Lower(name), std::regex("[ _]+"), "-");
  if (RunsHuggingFace(name)) return "huggingface-trainer";
  if (name == "fsdp2" || name == "pytorch-fsdp2") return "pytorch-fsdp";
  if (name.rfind("nvidia-nemo", 0) == 0 || std::regex_match(name, std::regex("nemo-[0-9.]+")))
    return "nemo";
  return name;
}

// Returns the name of a precision in our words. Other names stay, and are refused later.
std::string PrecisionName(std::string name) {
  name = std::regex_replace(Lower(name), std::regex("[ _()]+"), "-");
  static const std::map<std::string, const char*> kNames = {
      {"bfloat16", "bf16"}, {"bf16-mixed", "bf16"}, {"float16", "fp16"}, {"half", "fp16"},
      {"16-mixed", "fp16"}, {"fp16-mixed", "fp16"}, {"fp8-mx", "mxfp8"}, {"fp8-mxfp8", "mxfp8"},
      {"fp4", "nvfp4"},     {"e4m3", "fp8"},        {"float8", "fp8"}};
  const auto known = kNames.find(name);
  return known == kNames.end() ? name : known->second;
}

// Returns "none", "full" or parts. Other names stay, and are refused later.
Json RecomputeName(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "full" : "none";
  if (value.is_array()) {
    std::string parts;
    for (const Json& part : value)
      parts +=
          (parts.empty() ? "" : ", ") + (part.is_string() ? part.get<std::string>() : part.dump());
    return parts.empty() ? "none" : "selective (" + parts + ")";
  }
  if (!value.is_string()) return value;
  const std::string text = Lower(value.get<std::string>());
  if (text == "no" || text == "off" || text == "false" || text == "none") return "none";
  // A list in other brackets, or after a colon.
  static const std::regex kList("^(selective: *|\\[)(.*?)\\]?$");
  std::smatch list;
  if (std::regex_match(text, list, kList))
    return "selective (" + std::regex_replace(list[2].str(), std::regex("[\"']"), "") + ")";
  if (text == "true" || text == "yes" || text == "on" || text == "uniform" ||
      text.rfind("full", 0) == 0 || text == "every layer")
    return "full";
  return value;
}

// Returns the dispatcher with the case that ours have.
std::string DispatcherName(const std::string& name) {
  const std::string lower = Lower(name);
  if (lower.rfind("deepep", 0) == 0) return "DeepEP" + name.substr(6);
  if (lower == "hybridep" || lower == "hybrid-ep") return "HybridEP";
  if (lower == "all-gather" || lower == "allgather") return "allgather";
  return name;
}

// Returns targets of adapters, which may be a list of Hugging Face's modules, in words.
Json TargetNames(const Json& targets) {
  if (!targets.is_array()) return targets;
  bool qkv = false, out = false, mlp = false;
  for (const Json& target : targets) {
    const std::string name = target.is_string() ? Lower(target.get<std::string>()) : "?";
    if (name == "q_proj" || name == "k_proj" || name == "v_proj" || name == "linear_qkv" ||
        name == "c_attn" || name == "qkv_proj") {
      qkv = true;
    } else if (name == "o_proj" || name == "linear_proj") {
      out = true;
    } else if (name == "gate_proj" || name == "up_proj" || name == "down_proj" ||
               name == "gate_up_proj" || name == "linear_fc1" || name == "linear_fc2") {
      mlp = true;
    } else {
      return "unknown module " + name;
    }
  }
  if (qkv && out && mlp) return "all linear";
  std::string words;
  for (const auto& [has, word] :
       {std::pair(qkv, "fused QKV"), std::pair(out, "attention output"), std::pair(mlp, "MLP")})
    if (has) words += (words.empty() ? "" : " and ") + std::string(word);
  return words;
}

}  // namespace

Json InOurWords(Json row) {
  Rename(kRowNames, row);
  for (const char* key : {"model", "measured"}) {
    if (row.contains(key)) NumbersOf(row[key]);
  }
  NumbersOf(row);
  if (row.contains("model") && row["model"].is_object()) {
    Json& model = row["model"];
    Rename(kModelNames, model);
    if (model.contains("moe")) {
      Rename(kExpertNames, model["moe"]);
      NumbersOf(model["moe"]);
    }
    if (Child(model, "attention").is_string()) model["attention"] = Lower(Text(model, "attention"));
  }
  if (Child(row, "trainer").is_string()) row["trainer"] = Json{{"name", Text(row, "trainer")}};
  if (const std::string name = Text(Child(row, "trainer"), "name"); !name.empty())
    row["trainer"]["name"] = TrainerName(name);
  const std::string precision = Text(row, "precision");
  if (!precision.empty() && precision.find("weights") == std::string::npos) {
    std::string name = PrecisionName(precision);
    // Rows of tests/validation/runs say the recipe in their id.
    for (const char* recipe : {"current", "cs", "tensorwise", "block", "delayed"}) {
      if (!std::regex_search(name, std::regex("^fp8-+" + std::string(recipe)))) continue;
      row["fp8_recipe"] = std::string(recipe) == "cs" ? "current" : recipe;
      name = "fp8";
    }
    row["precision"] = name;
  }
  if (const std::string name = Text(row, "dispatcher"); !name.empty())
    row["dispatcher"] = DispatcherName(name);
  if (row.contains("recompute")) row["recompute"] = RecomputeName(row["recompute"]);
  if (Child(row, "trains").contains("lora")) {
    Json& lora = row["trains"]["lora"];
    NumbersOf(lora);
    if (lora.is_object() && lora.contains("targets"))
      lora["targets"] = TargetNames(lora["targets"]);
  }
  return row;
}

}  // namespace evenkeel::validation
