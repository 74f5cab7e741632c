// Architectures with mixtures of experts and plain attention.
#include "planner/base/concatenate.h"
#include "server/convert/config/architectures.h"

namespace evenkeel::server {
namespace {

constexpr ConfigExperts kLocalExperts = {.layers = ExpertLayers::kAll,
                                         .count = "num_local_experts",
                                         .per_token = "num_experts_per_tok",
                                         .width = "intermediate_size"};
constexpr ConfigExperts kOlmoExperts = {.layers = ExpertLayers::kAll,
                                        .count = "num_experts",
                                        .per_token = "num_experts_per_tok",
                                        .width = "intermediate_size"};

std::vector<ConfigArchitecture> MixtralAndPhi() {
  return {
      {.model_type = "mixtral",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,"num_local_experts":8,
                       "num_experts_per_tok":2})",
       .windows = WindowLayers::kAll,
       .experts = kLocalExperts},
      {.model_type = "phimoe",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,
                       "attention_bias":false,"lm_head_bias":false,"num_local_experts":16,
                       "num_experts_per_tok":2})",
       .norm = planner::Norm::kLayerNorm,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_bias = {.key = "lm_head_bias"},
       .windows = WindowLayers::kAll,
       .experts = kLocalExperts},
  };
}

std::vector<ConfigArchitecture> QwenMixtures() {
  return {
      {.model_type = "qwen2_moe",
       .defaults = R"({"num_key_value_heads":16,"tie_word_embeddings":false,"qkv_bias":true,
                       "use_sliding_window":false,"decoder_sparse_step":1,"num_experts":60,
                       "num_experts_per_tok":4,"moe_intermediate_size":1408,
                       "shared_expert_intermediate_size":5632})",
       .qkv_bias = {.key = "qkv_bias"},
       .experts = {.layers = ExpertLayers::kSparseStep,
                   .count = "num_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size",
                   .shared_width = "shared_expert_intermediate_size",
                   .shared_gate = true}},
      {.model_type = "qwen3_moe",
       .defaults = R"({"num_key_value_heads":4,"tie_word_embeddings":false,"attention_bias":false,
                       "use_sliding_window":false,"decoder_sparse_step":1,"num_experts":128,
                       "num_experts_per_tok":8,"moe_intermediate_size":768})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .experts = {.layers = ExpertLayers::kSparseStep,
                   .count = "num_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size"},
       .unread = {"shared_expert_intermediate_size", "use_qk_norm", "max_window_layers"}},
  };
}

std::vector<ConfigArchitecture> OlmoMixtures() {
  return {
      {.model_type = "olmoe",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"num_experts":64,
                       "num_experts_per_tok":8})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .width_norm = kYes,
       .experts = kOlmoExperts},
      {.model_type = "flex_olmo",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"num_experts":7,
                       "num_experts_per_tok":5})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .width_norm = kYes,
       .experts = kOlmoExperts},
  };
}

std::vector<ConfigArchitecture> GraniteMixtures() {
  return {
      {.model_type = "granitemoe",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"num_local_experts":8,
                       "num_experts_per_tok":2})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .experts = kLocalExperts},
      {.model_type = "granitemoeshared",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"num_local_experts":8,
                       "num_experts_per_tok":2,"shared_intermediate_size":0})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_local_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "intermediate_size",
                   .shared_width = "shared_intermediate_size"}},
  };
}

std::vector<ConfigArchitecture> MiniMaxM2() {
  return {
      {.model_type = "minimax_m2",
       .defaults = R"({"num_key_value_heads":8,"head_dim":128,"tie_word_embeddings":false,
                       "num_local_experts":256,"num_experts_per_tok":8})",
       .width_norm = kYes,
       .experts = kLocalExperts,
       .codes = {{.key = "attn_type_list",
                  .types = "layer_types",
                  .meanings = {{1, "full_attention"}}}},
       .unread = {"layernorm_full_attention_beta", "layernorm_linear_attention_beta",
                  "layernorm_mlp_beta", "mlp_intermediate_size", "mtp_transformer_layers",
                  "num_mtp_modules", "qk_norm_type", "rotary_dim", "shared_moe_mode", "use_mtp",
                  "use_qk_norm", "use_routing_bias"}},
  };
}

std::vector<ConfigArchitecture> GptOss() {
  return {
      {.model_type = "gpt_oss",
       .defaults = R"({"num_key_value_heads":8,"head_dim":64,"tie_word_embeddings":false,
                       "attention_bias":true,"sliding_window":128,"sliding_window_pattern":2,
                       "num_local_experts":128,"num_experts_per_tok":4})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .sinks = true,
       .windows = WindowLayers::kPattern,
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_local_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "intermediate_size",
                   .router_bias = true,
                   .mlp_bias = true},
       .unread = {"experts_per_token", "initial_context_length"}},
  };
}

std::vector<ConfigArchitecture> Llama4() {
  return {
      {.model_type = "llama4_text",
       .defaults = R"({"num_key_value_heads":8,"head_dim":128,"tie_word_embeddings":false,
                       "attention_bias":false,"intermediate_size_mlp":16384,"num_local_experts":16,
                       "num_experts_per_tok":1,"interleave_moe_layer_step":1,
                       "attention_chunk_size":8192,"no_rope_layer_interval":4})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .ffn = "intermediate_size_mlp",
       .windows = WindowLayers::kChunks,
       .experts = {.layers = ExpertLayers::kInterleaved,
                   .count = "num_local_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "intermediate_size",
                   .shared_width = "intermediate_size"},
       .unread = {"use_qk_norm", "for_llm_compressor"}},
  };
}

std::vector<ConfigArchitecture> ErnieMixtures() {
  return {
      {.model_type = "ernie4_5_moe",
       .defaults = R"({"num_key_value_heads":4,"tie_word_embeddings":true,
                       "moe_intermediate_size":1536,"moe_k":6,"moe_num_experts":64,
                       "moe_num_shared_experts":2,"moe_layer_start_index":1,
                       "moe_layer_end_index":-1,"moe_layer_interval":1})",
       .experts = {.layers = ExpertLayers::kRange,
                   .count = "moe_num_experts",
                   .per_token = "moe_k",
                   .width = "moe_intermediate_size",
                   .shared = "moe_num_shared_experts",
                   .router_bias = true},
       .unread = {"moe_capacity", "moe_gate", "moe_use_aux_free"}},
      {.model_type = "ernie4_5_vl_moe_text",
       .defaults = R"({"num_key_value_heads":4,"tie_word_embeddings":true,"use_bias":false,
                       "moe_intermediate_size":[1536,512],"moe_k":6,"moe_num_experts":64,
                       "moe_num_shared_experts":2,"first_k_dense_replace":1})",
       .qkv_bias = {.key = "use_bias"},
       .out_bias = {.key = "use_bias"},
       .mlp_bias = {.key = "use_bias"},
       .experts = {.layers = ExpertLayers::kBehindFirst,
                   .count = "moe_num_experts",
                   .per_token = "moe_k",
                   .width = "moe_intermediate_size",
                   .shared = "moe_num_shared_experts",
                   .unbiased = true,
                   .router_bias = true,
                   .of_images = true}},
  };
}

std::vector<ConfigArchitecture> ExaoneAndHunyuan() {
  return {
      {.model_type = "exaone_moe",
       .defaults = R"({"num_key_value_heads":32,"tie_word_embeddings":false,
                       "sliding_window":4096,"sliding_window_pattern":4,"num_experts":64,
                       "num_experts_per_tok":8,"num_shared_experts":1,
                       "moe_intermediate_size":1024,"first_k_dense_replace":1})",
       .head_norm = kYes,
       .windows = WindowLayers::kPattern,
       .experts = {.layers = ExpertLayers::kBehindFirst,
                   .count = "num_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size",
                   .shared = "num_shared_experts"}},
      {.model_type = "hunyuan_v1_moe",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"moe_topk":1})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_experts",
                   .per_token = "moe_topk",
                   .width = "intermediate_size",
                   .shared_width = "intermediate_size"},
       .unread = {"cla_share_factor", "moe_intermediate_size", "norm_type", "num_shared_expert",
                  "org_vocab_size", "use_mixed_mlp_moe", "use_qk_norm"}},
  };
}

}  // namespace

std::vector<ConfigArchitecture> MixtureArchitectures() {
  return planner::Concatenate<ConfigArchitecture>({MixtralAndPhi, QwenMixtures, OlmoMixtures,
                                                   GraniteMixtures, MiniMaxM2, GptOss, Llama4,
                                                   ErnieMixtures, ExaoneAndHunyuan});
}

}  // namespace evenkeel::server
