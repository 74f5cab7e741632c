// Architectures of the years before 2024: with learned or linear positions, biases, norms that
// attention and MLP share, or keys by names of their own.
#include "planner/base/concatenate.h"
#include "server/convert/config/architectures.h"

namespace evenkeel::server {
namespace {

using planner::Norm;

// With biases, and learned or linear positions.
std::vector<ConfigArchitecture> WithPositions() {
  return {
      {.model_type = "gpt2",
       .defaults = R"({"vocab_size":50257,"n_positions":1024,"n_embd":768,"n_layer":12,"n_head":12,
                       "tie_word_embeddings":true})",
       .layers = "n_layer",
       .width = "n_embd",
       .heads = "n_head",
       .norm = Norm::kLayerNorm,
       .gated = false,
       .grouped = false,
       .qkv_bias = kYes,
       .out_bias = kYes,
       .mlp_bias = kYes,
       .positions = "n_positions",
       .ffn = "n_inner",
       .ffn_times = 4,
       .unread = {"n_ctx", "scale_attn_by_inverse_layer_idx"}},
      {.model_type = "gpt_bigcode",
       .defaults = R"({"vocab_size":50257,"n_positions":1024,"n_embd":768,"n_layer":12,"n_head":12,
                       "multi_query":true,"tie_word_embeddings":true})",
       .layers = "n_layer",
       .width = "n_embd",
       .heads = "n_head",
       .norm = Norm::kLayerNorm,
       .gated = false,
       .grouped = false,
       .one_key_head = {.key = "multi_query"},
       .qkv_bias = kYes,
       .out_bias = kYes,
       .mlp_bias = kYes,
       .positions = "n_positions",
       .ffn = "n_inner",
       .ffn_times = 4,
       .unread = {"n_ctx", "attention_softmax_in_fp32", "num_key_value_heads"}},
      {.model_type = "bloom",
       .defaults = R"({"vocab_size":250880,"hidden_size":64,"n_layer":2,"n_head":8,
                       "tie_word_embeddings":true})",
       .layers = "n_layer",
       .heads = "n_head",
       .norm = Norm::kLayerNorm,
       .gated = false,
       .grouped = false,
       .head_size = false,
       .qkv_bias = kYes,
       .out_bias = kYes,
       .mlp_bias = kYes,
       .ffn = {},
       .ffn_times = 4,
       .embedding_norm = true,
       .renamed = {{"n_embed", "hidden_size"}},
       // As files of the first code have it.
       .unread = {"attention_softmax_in_fp32", "bias_dropout_fusion", "masked_softmax_fusion",
                  "n_inner", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv", "unk_token_id"}},
  };
}

// Architectures from before 2024 with keys by other names, or with norms that attention and MLP
// share.
std::vector<ConfigArchitecture> OptAndFalcon() {
  return {
      {.model_type = "opt",
       .defaults = R"({"ffn_dim":3072,"max_position_embeddings":2048,"enable_bias":true,
                       "layer_norm_elementwise_affine":true,"tie_word_embeddings":true})",
       .norm = Norm::kLayerNorm,
       .norm_weights = {.key = "layer_norm_elementwise_affine"},
       .gated = false,
       .grouped = false,
       .qkv_bias = {.key = "enable_bias"},
       .out_bias = {.key = "enable_bias"},
       .mlp_bias = {.key = "enable_bias"},
       .positions = "max_position_embeddings",
       .more_positions = 2,
       .ffn = "ffn_dim",
       .embedding_width = "word_embed_proj_dim"},
      {.model_type = "falcon",
       .defaults = R"({"bias":false,"parallel_attn":true,"tie_word_embeddings":true})",
       .norm = Norm::kLayerNorm,
       .parallel = {.key = "parallel_attn"},
       .gated = false,
       .qkv_bias = {.key = "bias"},
       .out_bias = {.key = "bias"},
       .mlp_bias = {.key = "bias"},
       .ffn = "ffn_hidden_size",
       .ffn_times = 4},
  };
}

// Their layer norms have no biases. transformers builds one shape for all values of `no_bias` and
// `expansion_ratio`.
std::vector<ConfigArchitecture> Mosaic() {
  return {
      {.model_type = "mpt",
       .defaults = R"({"d_model":2048,"n_heads":16,"n_layers":24,"vocab_size":50368,
                       "tie_word_embeddings":true})",
       .layers = "n_layers",
       .width = "d_model",
       .heads = "n_heads",
       .gated = false,
       .grouped = false,
       .ffn = {},
       .ffn_times = 4,
       .parts = {{.key = "attn_config",
                  .names = {{"alibi", "alibi"}, {"attn_type", "attn_type"}, {"qk_ln", "qk_ln"}},
                  .unread = {"alibi_bias_max"}},
                 {.key = "init_config", .names = {}}},
       .renamed = {{"hidden_size", "d_model"},
                   {"num_attention_heads", "n_heads"},
                   {"num_hidden_layers", "n_layers"}},
       .only = {{"no_bias", "true"},
                {"expansion_ratio", "4"},
                {"alibi", "true"},
                {"attn_type", R"("multihead_attention")"},
                {"qk_ln", "false"}},
       .unread = {"norm_type"}},
      {.model_type = "dbrx",
       .defaults = R"({"d_model":2048,"n_heads":16,"n_layers":24,"vocab_size":32000,
                       "num_key_value_heads":1,"ffn_hidden_size":3584,"moe_num_experts":4,
                       "moe_top_k":1})",
       .layers = "n_layers",
       .width = "d_model",
       .heads = "n_heads",
       .head_size = false,
       .tied = {},
       .ffn = "ffn_hidden_size",
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "moe_num_experts",
                   .per_token = "moe_top_k",
                   .width = "ffn_hidden_size"},
       .parts = {{.key = "attn_config", .names = {{"kv_n_heads", "num_key_value_heads"}}},
                 {.key = "ffn_config",
                  .names = {{"ffn_hidden_size", "ffn_hidden_size"},
                            {"moe_num_experts", "moe_num_experts"},
                            {"moe_top_k", "moe_top_k"}},
                  .unread = {"hidden_size", "ffn_act_fn", "moe_loss_weight",
                             "moe_normalize_expert_weights"}}},
       .renamed = {{"hidden_size", "d_model"},
                   {"num_attention_heads", "n_heads"},
                   {"num_hidden_layers", "n_layers"}},
       .only = {{"tie_word_embeddings", "false"}}},
  };
}

}  // namespace

std::vector<ConfigArchitecture> EarlyArchitectures() {
  return planner::Concatenate<ConfigArchitecture>({WithPositions, OptAndFalcon, Mosaic});
}

}  // namespace evenkeel::server
