// Rows whose values no run can have. They are named and left out, so that one wrong value does not
// end a report.
#include <array>
#include <cstdint>
#include <string>

#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

struct Range {
  const char* key;
  int64_t least, most;
};

constexpr int64_t kRanks = 1 << 20, kWidth = 1 << 20, kLayers = 4096, kTokens = int64_t{1} << 32;
constexpr std::array kRowRanges = {Range{"gpus", 1, kRanks},
                                   Range{"gpus_per_node", 1, kRanks},
                                   Range{"scaleup_domain_gpus", 1, kRanks},
                                   Range{"tp", 1, kRanks},
                                   Range{"pp", 1, kLayers},
                                   Range{"cp", 1, kRanks},
                                   Range{"ep", 1, kRanks},
                                   Range{"etp", 1, kRanks},
                                   Range{"vpp", 1, kLayers},
                                   Range{"zero", 0, 3},
                                   Range{"zero_group", 0, kRanks},
                                   Range{"micro_batch", 1, kWidth},
                                   Range{"grad_accum", 1, kWidth},
                                   Range{"global_batch", 1, kTokens},
                                   Range{"seq_len", 1, kTokens}};
constexpr std::array kModelRanges = {Range{"layers", 1, kLayers},  Range{"hidden", 1, kWidth},
                                     Range{"heads", 1, kWidth},    Range{"kv_heads", 1, kWidth},
                                     Range{"head_dim", 1, kWidth}, Range{"ffn", 0, kWidth},
                                     Range{"vocab", 1, 1 << 24}};
constexpr std::array kExpertRanges = {
    Range{"experts", 1, kWidth},      Range{"topk", 1, kWidth},
    Range{"expert_ffn", 1, kWidth},   Range{"shared_ffn", 0, kWidth},
    Range{"first_dense", 0, kLayers}, Range{"latent", 0, kWidth}};
constexpr std::array kDetailRanges = {
    Range{"q_lora_rank", 0, kWidth},     Range{"kv_lora_rank", 1, kWidth},
    Range{"qk_nope_dim", 0, kWidth},     Range{"qk_rope_dim", 0, kWidth},
    Range{"v_dim", 1, kWidth},           Range{"mtp_layers", 0, kLayers},
    Range{"mtp_num_layers", 0, kLayers}, Range{"mamba_heads", 1, kWidth},
    Range{"mamba_num_heads", 1, kWidth}, Range{"mamba_head_dim", 1, kWidth},
    Range{"mamba_groups", 1, kWidth},    Range{"mamba_state", 1, kWidth}};
constexpr std::array kLoraRanges = {Range{"rank", 1, kWidth}};

// Returns the first value that is outside its range, or "". A value of null is not known.
template <typename Ranges>
std::string Outside(const Json& object, const std::string& name, const Ranges& ranges) {
  for (const Range& range : ranges) {
    const Json& value = Child(object, range.key);
    if (!object.is_object() || !object.contains(range.key) || value.is_null()) continue;
    const double number = value.is_number() ? value.get<double>() : -1;
    if (number >= static_cast<double>(range.least) && number <= static_cast<double>(range.most))
      continue;
    return "impossible: " + name + range.key + " = " + value.dump();
  }
  return "";
}

// Returns why degrees and batch do not make up the run, or "".
std::string Inconsistent(const Json& row) {
  const int64_t ranks = Int(row, "tp", 1) * Int(row, "pp", 1) * Int(row, "cp", 1);
  const int64_t gpus = Int(row, "gpus", 1), data = gpus / ranks;
  if (data * ranks != gpus) return "";  // said elsewhere
  if (Int(row, "dp", data) != data)
    return "impossible: dp = " + std::to_string(Int(row, "dp")) + " with " + std::to_string(data) +
           " ranks left";
  const int64_t samples = data * Int(row, "micro_batch", 1) * Int(row, "grad_accum", 1);
  if (Int(row, "global_batch", samples) != samples)
    return "impossible: global_batch = " + std::to_string(Int(row, "global_batch")) +
           " in steps of " + std::to_string(samples);
  return "";
}

}  // namespace

std::string Impossible(const Json& row) {
  const Json& model = Child(row, "model");
  const Json& moe = Child(model, "moe");
  const Json& detail = Child(model, "attention_detail");
  for (const std::string& why :
       {Outside(row, "", kRowRanges), Outside(model, "model.", kModelRanges),
        Outside(moe, "model.moe.", kExpertRanges),
        Outside(detail, "model.attention_detail.", kDetailRanges),
        Outside(Child(Child(row, "trains"), "lora"), "trains.lora.", kLoraRanges)}) {
    if (!why.empty()) return why;
  }
  if (Int(model, "kv_heads", 1) > Int(model, "heads", 1))
    return "impossible: more kv_heads than heads";
  if (Int(moe, "topk", 1) > Int(moe, "experts", 1))
    return "impossible: model.moe.topk above experts";
  if (Int(moe, "first_dense") > Int(model, "layers", kLayers))
    return "impossible: model.moe.first_dense above model.layers";
  return Inconsistent(row);
}

}  // namespace evenkeel::validation
