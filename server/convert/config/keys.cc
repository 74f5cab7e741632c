#include "server/convert/config/keys.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr std::string_view kShapeWords[] = {
    "size",  "num_",   "dim", "layer", "head", "rank",  "expert", "hidden",  "width", "vocab",
    "bias",  "window", "ffn", "kv_",   "lora", "depth", "block",  "state",   "conv",  "ssm",
    "mamba", "share",  "tie", "mtp",   "gate", "moe",   "norm",   "parallel"};
constexpr std::string_view kShapeBeginnings[] = {"n_", "d_"};

// Keys with such a word that change no shape. Layers for multi-token prediction are left out, as
// transformers leaves them out.
constexpr const char* kWithoutShape =
    "_name_or_path add_cross_attention attention_dropout "
    "attn_logit_softcapping attn_scale attn_temperature_tuning aux_loss_alpha "
    "chunk_size_feed_forward cross_attention_hidden_size "
    "encoder_no_repeat_ngram_size ep_size expert_router_jitter "
    "final_logit_softcapping for_llm_compressor hidden_act hidden_activation "
    "hidden_dropout initializer_range is_encoder_decoder layer_norm_eps "
    "layer_norm_epsilon layer_types layernorm_epsilon logits_scaling "
    "max_position_embeddings max_window_layers mlp_only_layers moe_norm_min "
    "moe_router_enable_expert_bias mamba_hidden_act mamba_ssm_cache_dtype mamba_ssm_dtype "
    "moe_shared_expert_overlap mtp_layers_block_type mtp_hybrid_override_pattern "
    "mtp_num_hidden_layers mtp_use_dedicated_embeddings num_logits_to_keep "
    "rescale_prenorm_residual num_image_tokens use_mamba_kernels mamba_chunk_size mlp_hidden_act "
    "n_group "
    "no_repeat_ngram_size no_rope_layers "
    "norm_eps norm_epsilon norm_topk_prob num_beam_groups num_beams num_experts_per_topk "
    "num_labels "
    "num_mtp_layers num_nextn_predict_layers num_return_sequences "
    "original_max_position_embeddings output_hidden_states pad_token_id "
    "partial_rotary_factor pretraining_tp qk_head_dim quantization_config "
    "query_pre_attn_scalar rms_norm_eps rope_interleave router_aux_loss_coef "
    "scoring_func seq_aux sliding_window swiglu_limit tie_encoder_decoder "
    "tie_word_embeddings tokenizer_class topk_group topk_method "
    "use_bidirectional_attention use_cache use_sliding_window";
constexpr std::string_view kWordsWithoutShape[] = {"dropout", "pdrop", "rope_"};
constexpr std::string_view kEndsWithoutShape[] = {"_token_id", "_token_index", "_multiplier",
                                                  "_eps", "_multipliers"};

constexpr std::string_view kNoneWhereNull[] = {
    "sliding_window",      "num_key_value_heads",  "head_dim",
    "mamba_conv_bias",     "linear_num_key_heads", "linear_num_value_heads",
    "linear_key_head_dim", "linear_value_head_dim"};

constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"head_dim", "attention_head_dim"},
    {"attention_heads", "num_attention_heads"},
    {"n_groups", "mamba_n_groups"},
    {"conv_kernel", "mamba_d_conv"},
    {"use_conv_bias", "mamba_conv_bias"},
    {"layers_block_type", "layer_types"},
    {"num_experts", "num_local_experts"},
    {"n_routed_experts", "num_local_experts"},
    {"moe_num_experts", "num_experts"},
    {"moe_k", "num_experts_per_tok"},
    {"num_local_experts", "num_experts"},
    {"num_nextn_predict_layers", "num_mtp_layers"},
    {"num_experts_per_token", "num_experts_per_tok"},
    {"num_shared_experts", "n_shared_experts"},
    {"hidden_size", "vt_hidden_size"},
    {"intermediate_size", "vt_intermediate_size"},
    {"num_attention_heads", "vt_num_attention_heads"},
    {"num_hidden_layers", "vt_num_hidden_layers"},
    {"pos_emb_height", "init_pos_emb_height"},
    {"pos_emb_width", "init_pos_emb_width"},
    {"encoder_layers", "num_hidden_layers"},
    {"n_embd", "hidden_size"},
    {"n_layer", "num_hidden_layers"},
    {"n_head", "num_attention_heads"},
    {"sliding_window_pattern", "_sliding_window_pattern"}};

}  // namespace

bool MayChangeShapes(std::string_view key) {
  static const std::set<std::string> known = absl::StrSplit(kWithoutShape, ' ');
  const std::string lower = absl::AsciiStrToLower({key.data(), key.size()});
  const auto has = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
  const auto begins = [&](std::string_view word) { return lower.starts_with(word); };
  const auto ends = [&](std::string_view word) { return lower.ends_with(word); };
  const auto any = [](const auto& words, const auto& holds) {
    return std::any_of(std::begin(words), std::end(words), holds);
  };
  if (known.count(lower) > 0 || any(kWordsWithoutShape, has) || any(kEndsWithoutShape, ends))
    return false;
  return any(kShapeWords, has) || any(kShapeBeginnings, begins);
}

bool NullMeansNone(std::string_view key) {
  return std::find(std::begin(kNoneWhereNull), std::end(kNoneWhereNull), key) !=
         std::end(kNoneWhereNull);
}

std::vector<std::string_view> AliasesOf(std::string_view key) {
  std::vector<std::string_view> aliases;
  for (const auto& [own, other] : kAliases)
    if (own == key) aliases.push_back(other);
  return aliases;
}

}  // namespace evenkeel::server
