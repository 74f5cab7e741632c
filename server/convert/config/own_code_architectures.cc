// Architectures that transformers has no code for: their checkpoints have it.
#include "planner/base/concatenate.h"
#include "server/convert/config/architectures.h"

namespace evenkeel::server {
namespace {

// Llama's layers under other names.
std::vector<ConfigArchitecture> LikeLlama() {
  return {
      {.model_type = "exaone",
       .defaults = R"({"tie_word_embeddings":false})",
       .layers = "num_layers",
       .renamed = {{"num_hidden_layers", "num_layers"}},
       .source = "LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct modelling code"},
      {.model_type = "baichuan",
       .defaults = R"({"tie_word_embeddings":false})",
       .grouped = false,
       .head_size = false,
       .source = "baichuan-inc/Baichuan2-7B-Base modelling code"},
      {.model_type = "minicpm",
       .defaults = R"({"tie_word_embeddings":true,"attention_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .unread = {"scale_depth", "dim_model_base"},
       .source = "openbmb/MiniCPM-2B-sft-bf16 modelling code"},
  };
}

// Ling and Ring, of both generations: the second has norms of heads, and layers that predict.
std::vector<ConfigArchitecture> Bailing() {
  return {
      {.model_type = "bailing_moe",
       .defaults = R"({"tie_word_embeddings":false,"use_qkv_bias":false,"use_bias":false,
                       "use_qk_norm":false,"num_shared_experts":0,"first_k_dense_replace":0})",
       .qkv_bias = {.key = "use_qkv_bias"},
       .out_bias = {.key = "use_bias"},
       .head_norm = {.key = "use_qk_norm"},
       .experts = {.layers = ExpertLayers::kBehindFirst,
                   .count = "num_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size",
                   .shared = "num_shared_experts"},
       .predicted = "num_nextn_predict_layers",
       .unread = {"moe_shared_expert_intermediate_size", "rotary_dim", "use_rmsnorm"},
       .source = "inclusionAI/Ling-V2 modelling code"},
  };
}

}  // namespace

std::vector<ConfigArchitecture> OwnCodeArchitectures() {
  return planner::Concatenate<ConfigArchitecture>({LikeLlama, Bailing});
}

}  // namespace evenkeel::server
