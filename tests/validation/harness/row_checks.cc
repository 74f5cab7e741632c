// Facts that a published run lacks, and settings that the planner cannot express.
#include <algorithm>
#include <regex>

#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

// Returns whether a value is not there. A value of null is not known.
bool Unknown(const Json& object, const char* key) {
  return !object.is_object() || !object.contains(key) || object[key].is_null();
}
bool SaidUnknown(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_null();
}

// Returns the key of the model that is not known, or "".
std::string MissingOfModel(const Json& model) {
  for (const char* key : {"layers", "hidden", "heads", "vocab"}) {
    if (Unknown(model, key)) return key;
  }
  for (const char* key : {"gated_mlp", "norm", "attention"}) {
    if (SaidUnknown(model, key)) return key;
  }
  const Json& moe = Child(model, "moe");
  if (!moe.is_object() || moe.empty()) return SaidUnknown(model, "ffn") ? "ffn" : "";
  for (const char* key : {"experts", "topk", "expert_ffn"}) {
    if (Unknown(moe, key)) return std::string("moe.") + key;
  }
  return "";
}

// Returns why the batch is not known, or does not add up.
std::string BatchFault(const Json& row) {
  for (const char* key : {"micro_batch", "grad_accum", "global_batch"}) {
    if (Unknown(row, key)) return std::string("incomplete: ") + key;
  }
  return "";
}

bool Matches(const std::string& text, const char* pattern) {
  return std::regex_match(text, std::regex(pattern));
}

std::string UnknownRecompute(const Json& row) {
  const Json& recompute = Child(row, "recompute");
  if (recompute.is_object() && recompute.empty()) return "";
  constexpr char kParts[] =
      "(core_attn|layernorm|mlp|moe|moe_act|mla_up_proj|op|every other layer|"
      "default of the config of that date - inferred|, )*";
  if (recompute.is_string()) {
    const std::string text = recompute.get<std::string>();
    if (text == "none" || text == "full" || text == "selective") return "";
    constexpr char kSelective[] = "selective (";
    if (text.rfind(kSelective, 0) == 0 && text.back() == ')' &&
        Matches(text.substr(sizeof(kSelective) - 1, text.size() - sizeof(kSelective)), kParts))
      return "";
    if (!text.empty() && Matches(text, kParts)) return "";
  }
  return "recompute " + recompute.dump();
}

}  // namespace

Json WithBatch(Json row) {
  const auto known = [&](const char* key) { return Child(row, key).is_number_integer(); };
  const auto unknown = [&](const char* key) { return Unknown(row, key); };
  constexpr int64_t kMost = 1 << 20;
  const auto small = [&](const char* key) {
    return std::clamp<int64_t>(Int(row, key, 1), 1, kMost);
  };
  const int64_t ranks = small("tp") * small("pp") * small("cp");
  const int64_t data = Int(row, "gpus") / ranks, global = Int(row, "global_batch");
  const auto divide = [&](const char* key, const char* by) {
    const int64_t divisor = data > 0 && data <= kMost && known(by) ? data * small(by) : 0;
    if (unknown(key) && divisor > 0 && global > 0 && global % divisor == 0)
      row[key] = global / divisor;
  };
  divide("grad_accum", "micro_batch");
  divide("micro_batch", "grad_accum");
  if (unknown("global_batch") && data > 0 && data <= kMost && known("micro_batch") &&
      known("grad_accum"))
    row["global_batch"] = data * small("micro_batch") * small("grad_accum");
  return row;
}

std::string Missing(const Json& row) {
  std::string missing;
  for (const Json& key : Child(row, "missing"))
    missing += (missing.empty() ? "" : ", ") + (key.is_string() ? key.get<std::string>() : "?");
  if (!missing.empty()) return "incomplete: " + missing;
  if (const std::string key = MissingOfModel(Child(row, "model")); !key.empty())
    return "incomplete: model." + key;
  for (const char* key : {"gpus", "seq_len", "tp", "pp"}) {
    if (Unknown(row, key)) return std::string("incomplete: ") + key;
  }
  for (const char* key : {"gpu", "precision"}) {
    if (Text(row, key).empty()) return std::string("incomplete: ") + key;
  }
  for (const char* key : {"recompute", "trains", "zero"}) {
    if (SaidUnknown(row, key)) return std::string("incomplete: ") + key;
  }
  if (const std::string fault = BatchFault(row); !fault.empty()) return fault;
  const Json& trains = Child(row, "trains");
  return trains.contains("lora") && Unknown(Child(trains, "lora"), "rank")
             ? "incomplete: trains.lora.rank"
             : "";
}

std::string Inexpressible(const Json& row) {
  const Json& vision = Child(row, "vision");
  if (vision.is_object() && !vision.empty()) return "encoders";
  const Json& trains = Child(row, "trains");
  if (trains.is_string() && Text(row, "trains") != "full") return "trains " + Text(row, "trains");
  if (trains.is_object() && !trains.empty() && !trains.contains("lora")) return "frozen parts";
  const Json& lora = Child(trains, "lora");
  const std::string also = Text(lora, "also_trained");
  if (!also.empty() && also != kTables) return "LoRA with " + also;
  if (const std::string targets = Text(lora, "targets"); targets.rfind("unknown", 0) == 0)
    return "LoRA of an " + targets;
  if (Flag(row, "activation_offload")) return "activations offloaded";
  if (const std::string why = UnknownRecompute(row); !why.empty()) return why;
  const std::string attention = Text(Child(row, "model"), "attention", "gqa");
  if (!Matches(attention, "mha|gqa|mqa|mla|sliding|hybrid-mamba")) return "attention " + attention;
  const std::string dispatcher = Text(row, "dispatcher");
  if (!Matches(dispatcher, ".*(all-?to-?all|AllToAll|DeepEP.*|HybridEP|flex|all-?gather)|"))
    return "dispatcher " + dispatcher;
  return "";
}

}  // namespace evenkeel::validation
