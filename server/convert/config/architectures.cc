#include "server/convert/config/architectures.h"

#include <algorithm>
#include <utility>

#include "planner/base/concatenate.h"

namespace evenkeel::server {
namespace {

using planner::Norm;

constexpr ConfigFlag kUseBias = {.key = "use_bias"};

std::vector<ConfigArchitecture> LlamaLike() {
  return {
      {.model_type = "llama",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"mlp_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias},
      {.model_type = "mistral",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,"sliding_window":4096})",
       .windows = WindowLayers::kAll},
      {.model_type = "ministral",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,"sliding_window":4096})",
       .windows = WindowLayers::kAll},
      {.model_type = "ministral3",
       .defaults = R"({"num_key_value_heads":8,"head_dim":128,"tie_word_embeddings":false})",
       .windows = WindowLayers::kAll},
      {.model_type = "internlm2",
       .defaults = R"({"tie_word_embeddings":false,"bias":true})",
       .qkv_bias = {.key = "bias"},
       .out_bias = {.key = "bias"},
       .source = "internlm/internlm2-7b modelling code"},
      {.model_type = "internlm3",
       .defaults = R"({"num_key_value_heads":2,"head_dim":128,"tie_word_embeddings":false,
                       "attention_bias":false,"mlp_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias,
       .renamed = {{"qkv_bias", "attention_bias"}, {"bias", "mlp_bias"}}},
      {.model_type = "granite",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"mlp_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias},
      {.model_type = "smollm3",
       .defaults = R"({"num_key_value_heads":4,"tie_word_embeddings":true,"attention_bias":false,
                       "mlp_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias},
      {.model_type = "seed_oss",
       .defaults = R"({"num_key_value_heads":8,"head_dim":128,"tie_word_embeddings":false,
                       "attention_bias":true,"attention_out_bias":false,"mlp_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = {.key = "attention_out_bias"},
       .mlp_bias = kMlpBias},
      {.model_type = "phi3",
       .defaults = R"({"tie_word_embeddings":false})",
       .windows = WindowLayers::kAll},
      {.model_type = "ernie4_5",
       .defaults = R"({"num_key_value_heads":2,"head_dim":128,"tie_word_embeddings":true,
                       "use_bias":false})",
       .qkv_bias = kUseBias,
       .out_bias = kUseBias,
       .mlp_bias = kUseBias},
      {.model_type = "hunyuan_v1_dense",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .unread = {"cla_share_factor", "enable_lm_head_fp32", "norm_type", "org_vocab_size",
                  "use_qk_norm"}},
  };
}

std::vector<ConfigArchitecture> QwenAndGlm() {
  return {
      {.model_type = "qwen2",
       .defaults = R"({"num_key_value_heads":32,"tie_word_embeddings":false,
                       "use_sliding_window":false,"sliding_window":4096,"max_window_layers":28})",
       .qkv_bias = kYes,
       .windows = WindowLayers::kBehindFirst},
      // Qwen2 with heads of a width of their own; from its own modelling code.
      {.model_type = "mimo",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":true,"use_sliding_window":false,
                       "sliding_window":4096,"max_window_layers":28})",
       .qkv_bias = kAttentionBias,
       .windows = WindowLayers::kBehindFirst,
       .predicted = "num_nextn_predict_layers",
       .source = "XiaomiMiMo/MiMo-7B-Base modelling code"},
      {.model_type = "qwen3",
       .defaults = R"({"num_key_value_heads":32,"head_dim":128,"tie_word_embeddings":false,
                       "attention_bias":false,"use_sliding_window":false,"sliding_window":4096,
                       "max_window_layers":28})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .windows = WindowLayers::kBehindFirst},
      {.model_type = "glm",
       .defaults = R"({"num_key_value_heads":2,"head_dim":128,"tie_word_embeddings":false,
                       "attention_bias":true})",
       .qkv_bias = kAttentionBias},
      {.model_type = "glm4",
       .defaults = R"({"num_key_value_heads":2,"head_dim":128,"tie_word_embeddings":false,
                       "attention_bias":true})",
       .layer_norms = 4,
       .qkv_bias = kAttentionBias},
      {.model_type = "exaone4",
       .defaults = R"({"num_key_value_heads":32,"tie_word_embeddings":false,"sliding_window":4096,
                       "sliding_window_pattern":4})",
       .head_norm = kYes,
       .windows = WindowLayers::kPattern},
  };
}

std::vector<ConfigArchitecture> GemmaAndOlmo() {
  return {
      {.model_type = "gemma",
       .defaults = R"({"num_key_value_heads":16,"head_dim":256,"tie_word_embeddings":true,
                       "attention_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias},
      {.model_type = "gemma2",
       .defaults = R"({"num_key_value_heads":4,"head_dim":256,"tie_word_embeddings":true,
                       "attention_bias":false,"sliding_window":4096,"sliding_window_pattern":2})",
       .layer_norms = 4,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .windows = WindowLayers::kPattern,
       .unread = {"sliding_window_size"}},
      {.model_type = "gemma3_text",
       .defaults = R"({"num_key_value_heads":4,"head_dim":256,"tie_word_embeddings":true,
                       "attention_bias":false,"sliding_window":4096,"sliding_window_pattern":6})",
       .layer_norms = 4,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .windows = WindowLayers::kPattern},
      {.model_type = "olmo",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false})",
       .norm = Norm::kLayerNorm,
       .norm_weights = {},
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias},
      {.model_type = "olmo2",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .width_norm = kYes},
      {.model_type = "olmo3",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"sliding_window":4096,
                       "sliding_window_pattern":4})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .width_norm = kYes,
       .windows = WindowLayers::kPattern},
  };
}

// Layer norms with biases, or attention and MLP in parallel.
std::vector<ConfigArchitecture> OtherDense() {
  return {
      {.model_type = "cohere",
       .defaults = R"({"tie_word_embeddings":true,"attention_bias":false,"use_qk_norm":false})",
       .layer_norms = 1,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .width_norm = {.key = "use_qk_norm"}},
      {.model_type = "cohere2",
       .defaults = R"({"tie_word_embeddings":true,"attention_bias":false,"sliding_window":4096,
                       "sliding_window_pattern":4})",
       .layer_norms = 1,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .windows = WindowLayers::kPattern,
       .unread = {"layer_switch", "order_of_interleaved_layers", "use_gated_activation",
                  "use_parallel_block", "use_parallel_embedding"}},
      {.model_type = "starcoder2",
       .defaults = R"({"num_key_value_heads":2,"tie_word_embeddings":true,"use_bias":true})",
       .norm = Norm::kLayerNorm,
       .gated = false,
       .qkv_bias = kUseBias,
       .out_bias = kUseBias,
       .mlp_bias = kUseBias,
       .windows = WindowLayers::kAll,
       .unread = {"norm_type"}},
      {.model_type = "stablelm",
       .defaults = R"({"num_key_value_heads":32,"tie_word_embeddings":false,"use_qkv_bias":false,
                       "qk_layernorm":false,"use_parallel_residual":false})",
       .norm = Norm::kLayerNorm,
       .parallel = {.key = "use_parallel_residual"},
       .qkv_bias = {.key = "use_qkv_bias"},
       .width_norm = {.key = "qk_layernorm"},
       .unread = {"num_heads"}},
  };
}

// MLPs without a gate.
std::vector<ConfigArchitecture> Ungated() {
  return {
      {.model_type = "phi",
       .defaults = R"({"tie_word_embeddings":false,"qk_layernorm":false})",
       .norm = Norm::kLayerNorm,
       .layer_norms = 1,
       .gated = false,
       .qkv_bias = kYes,
       .out_bias = kYes,
       .mlp_bias = kYes,
       .head_bias = kYes,
       .head_norm = {.key = "qk_layernorm"}},
      {.model_type = "gpt_neox",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":true})",
       .norm = Norm::kLayerNorm,
       .gated = false,
       .grouped = false,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kYes,
       .unread = {"use_parallel_residual"}},  // each has a norm of its own
      {.model_type = "apertus",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,
                       "hidden_act":"xielu"})",
       .gated = false,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .scalars_with = "xielu",
       // The format of files of the publisher's own code.
       .unread = {"mlp_bias", "post_norm", "qk_norm"}},
      {.model_type = "arcee",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"mlp_bias":false})",
       .gated = false,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias},
      {.model_type = "nemotron",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"mlp_bias":false})",
       .norm = Norm::kLayerNorm,
       .gated = false,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias},
  };
}

constexpr ConfigExperts kDeepSeekExperts = {.layers = ExpertLayers::kBehindFirst,
                                            .count = "n_routed_experts",
                                            .per_token = "num_experts_per_tok",
                                            .width = "moe_intermediate_size",
                                            .shared = "n_shared_experts"};

constexpr std::string_view kDeepSeekV3Defaults =
    R"({"num_key_value_heads":128,"tie_word_embeddings":false,"attention_bias":false,
        "kv_lora_rank":512,"q_lora_rank":1536,"qk_rope_head_dim":64,"v_head_dim":128,
        "qk_nope_head_dim":128,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,
        "moe_intermediate_size":2048,"first_k_dense_replace":3})";

constexpr std::string_view kDeepSeekV32Defaults =
    R"({"num_key_value_heads":128,"tie_word_embeddings":false,"attention_bias":false,
        "kv_lora_rank":512,"q_lora_rank":1536,"qk_rope_head_dim":64,"v_head_dim":128,
        "qk_nope_head_dim":128,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,
        "moe_intermediate_size":2048,"first_k_dense_replace":3,"index_topk":2048,
        "index_head_dim":128,"index_n_heads":64})";

constexpr std::string_view kGlmDefaults =
    R"({"num_key_value_heads":64,"tie_word_embeddings":false,"attention_bias":false,
        "kv_lora_rank":512,"q_lora_rank":2048,"qk_rope_head_dim":64,"v_head_dim":256,
        "qk_nope_head_dim":192,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,
        "moe_intermediate_size":2048,"first_k_dense_replace":3,"index_topk":2048,
        "index_head_dim":128,"index_n_heads":32})";

std::vector<ConfigArchitecture> DeepSeekLike() {
  return {
      {.model_type = "deepseek_v2",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"kv_lora_rank":512,
                       "q_lora_rank":1536,"qk_rope_head_dim":64,"v_head_dim":128,
                       "qk_nope_head_dim":128,"n_routed_experts":64,"n_shared_experts":2,
                       "moe_intermediate_size":1407,"first_k_dense_replace":0})",
       .latent = true,
       .experts = kDeepSeekExperts},
      {.model_type = "deepseek_v3",
       .defaults = kDeepSeekV3Defaults,
       .latent = true,
       .experts = kDeepSeekExperts,
       .predicted = "num_nextn_predict_layers"},
      {.model_type = "deepseek_v32",
       .defaults = kDeepSeekV32Defaults,
       .latent = true,
       .index = true,
       .experts = kDeepSeekExperts,
       .predicted = "num_nextn_predict_layers"},
      {.model_type = "glm_moe_dsa",
       .defaults = kGlmDefaults,
       .latent = true,
       .index = true,
       .experts = kDeepSeekExperts,
       .predicted = "num_nextn_predict_layers"},
      {.model_type = "mistral4",
       .defaults = R"({"num_key_value_heads":32,"tie_word_embeddings":false,
                       "attention_bias":false,"kv_lora_rank":256,"q_lora_rank":1024,
                       "qk_rope_head_dim":64,"v_head_dim":128,"qk_nope_head_dim":64,
                       "n_routed_experts":128,"n_shared_experts":1,"num_experts_per_tok":4,
                       "moe_intermediate_size":2048,"first_k_dense_replace":0})",
       .latent = true,
       .experts = kDeepSeekExperts},
      {.model_type = "kimi_k2",
       .defaults = kDeepSeekV3Defaults,
       .latent = true,
       .experts = kDeepSeekExperts,
       .predicted = "num_nextn_predict_layers",
       .source = "DeepSeek-V3's layout, as the model's own code says"},
      {.model_type = "glm4_moe_lite",
       .defaults = R"({"num_key_value_heads":20,"tie_word_embeddings":false,
                       "attention_bias":false,"kv_lora_rank":512,"q_lora_rank":768,
                       "qk_rope_head_dim":64,"v_head_dim":256,"qk_nope_head_dim":192,
                       "n_routed_experts":64,"n_shared_experts":1,"num_experts_per_tok":4,
                       "moe_intermediate_size":1536,"first_k_dense_replace":1})",
       .latent = true,
       .experts = kDeepSeekExperts,
       .predicted = "num_nextn_predict_layers"},
  };
}

std::vector<ConfigArchitecture> MiniCpm3() {
  return {
      {.model_type = "minicpm3",
       .defaults = R"({"tie_word_embeddings":true,"attention_bias":false,"mlp_bias":false,
                       "kv_lora_rank":256,"q_lora_rank":768,"qk_nope_head_dim":64,
                       "qk_rope_head_dim":32})",
       .latent = true,
       .mlp_bias = kMlpBias,
       .unread = {"scale_depth", "dim_model_base"}},
  };
}

// DeepSeek's experts with plain attention.
std::vector<ConfigArchitecture> DeepSeekExperts() {
  return {
      {.model_type = "glm4_moe",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,"attention_bias":false,
                       "use_qk_norm":false,"n_routed_experts":128,"n_shared_experts":1,
                       "num_experts_per_tok":8,"moe_intermediate_size":1408,
                       "first_k_dense_replace":1})",
       .qkv_bias = kAttentionBias,
       .head_norm = {.key = "use_qk_norm"},
       .experts = kDeepSeekExperts,
       .predicted = "num_nextn_predict_layers"},
      {.model_type = "dots1",
       .defaults = R"({"num_key_value_heads":32,"tie_word_embeddings":false,"attention_bias":false,
                       "moe_intermediate_size":1408,"first_k_dense_replace":0,
                       "use_sliding_window":false,"sliding_window":4096,"max_window_layers":62})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .windows = WindowLayers::kBehindFirst,
       .experts = kDeepSeekExperts},
  };
}

// A language model under another name, inside a model with encoders.
struct Wrapped {
  std::string_view name, like;
  std::string_view defaults = {};  // in place of that one's
  bool head_size = true;
};
constexpr Wrapped kWrapped[] = {
    {"qwen2_vl_text", "qwen2"},
    {"qwen2_5_vl_text", "qwen2"},
    {"qwen2_5_omni_text", "qwen2",
     R"({"num_key_value_heads":4,"tie_word_embeddings":true,"use_sliding_window":false,
         "sliding_window":32768,"max_window_layers":28})"},
    {"glm4v_text", "glm4",
     R"({"num_key_value_heads":2,"tie_word_embeddings":false,"attention_bias":true})",
     /*head_size=*/false},
    {"glm4v_moe_text", "glm4_moe",
     R"({"num_key_value_heads":8,"tie_word_embeddings":false,"attention_bias":true,
         "use_qk_norm":false,"n_routed_experts":128,"n_shared_experts":1,
         "num_experts_per_tok":8,"moe_intermediate_size":1408,"first_k_dense_replace":1})"},
    {"qwen3_vl_text", "qwen3"},
    {"qwen3_vl_moe_text", "qwen3_moe",
     R"({"num_key_value_heads":16,"tie_word_embeddings":false,"attention_bias":false,
         "use_sliding_window":false,"decoder_sparse_step":1,"num_experts":60,
         "num_experts_per_tok":4,"moe_intermediate_size":1408})"},
    {"qwen3_omni_moe_text", "qwen3_moe"},
    {"minimax_m3", "minimax_m3_vl_text"},  // as only its text is published
    {"minimax_text_01", "minimax"},        // as published before transformers had it
    {"minimax_m1", "minimax"},
    {"phi4_multimodal", "phi3",
     R"({"vocab_size":200064,"hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,
         "num_attention_heads":32,"num_key_value_heads":8,"tie_word_embeddings":false,
         "sliding_window":null})"}};

std::vector<ConfigArchitecture> WithWrapped(std::vector<ConfigArchitecture> all) {
  for (const auto& [name, like, defaults, head_size] : kWrapped) {
    ConfigArchitecture copy = *std::find_if(
        all.begin(), all.end(),
        [like = like](const ConfigArchitecture& known) { return known.model_type == like; });
    copy.model_type = name;
    if (!defaults.empty()) copy.defaults = defaults;
    copy.head_size = head_size;
    all.push_back(std::move(copy));
  }
  return all;
}

}  // namespace

const std::vector<ConfigArchitecture>& ConfigArchitectures() {
  static const std::vector<ConfigArchitecture> all =
      WithWrapped(planner::Concatenate<ConfigArchitecture>(
          {LlamaLike, QwenAndGlm, GemmaAndOlmo, OtherDense, Ungated, EarlyArchitectures,
           OwnCodeArchitectures, MixtureArchitectures, DeepSeekLike, MiniCpm3, DeepSeekExperts,
           RecurrentArchitectures, MixedArchitectures}));
  return all;
}

}  // namespace evenkeel::server
