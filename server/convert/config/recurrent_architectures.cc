// Architectures whose layers do not all attend.
#include "planner/base/concatenate.h"
#include "server/convert/config/architectures.h"

namespace evenkeel::server {
namespace {

using planner::ScanKind;

constexpr ConfigRecurrent kGatedDeltaNet = {.layers = MixerLayers::kInterval,
                                            .scan = ScanKind::kGatedDelta,
                                            .key_heads = "linear_num_key_heads",
                                            .key_dim = "linear_key_head_dim",
                                            .value_heads = "linear_num_value_heads",
                                            .value_dim = "linear_value_head_dim",
                                            .conv = "linear_conv_kernel_dim"};

constexpr ConfigRecurrent kMamba2 = {.scan = ScanKind::kStates,
                                     .key_heads = "mamba_n_groups",
                                     .key_dim = "mamba_d_state",
                                     .value_heads = "mamba_n_heads",
                                     .value_dim = "mamba_d_head",
                                     .conv = "mamba_d_conv",
                                     .expand = "mamba_expand",
                                     .conv_bias = {.key = "mamba_conv_bias"},
                                     .linear_bias = {.key = "mamba_proj_bias"}};

constexpr ConfigRecurrent Mamba2(MixerLayers layers) {
  ConfigRecurrent mamba = kMamba2;
  mamba.layers = layers;
  return mamba;
}

constexpr ConfigExperts kQwenExperts = {.layers = ExpertLayers::kSparseStep,
                                        .count = "num_experts",
                                        .per_token = "num_experts_per_tok",
                                        .width = "moe_intermediate_size",
                                        .shared_width = "shared_expert_intermediate_size",
                                        .shared_gate = true};

std::vector<ConfigArchitecture> DeltaNets() {
  return {
      {.model_type = "qwen3_next",
       .defaults = R"({"num_key_value_heads":2,"head_dim":256,"tie_word_embeddings":false,
                       "attention_bias":false,"linear_conv_kernel_dim":4,
                       "linear_key_head_dim":128,"linear_value_head_dim":128,
                       "linear_num_key_heads":16,"linear_num_value_heads":32,
                       "decoder_sparse_step":1,"moe_intermediate_size":512,
                       "shared_expert_intermediate_size":512,"num_experts_per_tok":10,
                       "num_experts":512,"intermediate_size":5632})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .attention_gate = kYes,
       .experts = kQwenExperts,
       .recurrent = kGatedDeltaNet},
      {.model_type = "qwen3_5_text",
       .defaults = R"({"num_key_value_heads":4,"head_dim":256,"tie_word_embeddings":false,
                       "attention_bias":false,"linear_conv_kernel_dim":4,
                       "linear_key_head_dim":128,"linear_value_head_dim":128,
                       "linear_num_key_heads":16,"linear_num_value_heads":32})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .attention_gate = kYes,
       .recurrent = kGatedDeltaNet,
       .predicted = "mtp_num_hidden_layers",
       .unread = {"attn_output_gate"}},
      {.model_type = "qwen3_5_moe_text",
       .defaults = R"({"num_key_value_heads":2,"head_dim":256,"tie_word_embeddings":false,
                       "attention_bias":false,"linear_conv_kernel_dim":4,
                       "linear_key_head_dim":128,"linear_value_head_dim":128,
                       "linear_num_key_heads":16,"linear_num_value_heads":32,
                       "moe_intermediate_size":512,"shared_expert_intermediate_size":512,
                       "num_experts_per_tok":8,"num_experts":256,"intermediate_size":512})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .attention_gate = kYes,
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size",
                   .shared_width = "shared_expert_intermediate_size",
                   .shared_gate = true},
       .recurrent = kGatedDeltaNet,
       .predicted = "mtp_num_hidden_layers",
       .unread = {"attn_output_gate"}},
  };
}

std::vector<ConfigArchitecture> MiniMaxes() {
  return {
      {.model_type = "minimax",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,
                       "intermediate_size":14336,"num_local_experts":8,"num_experts_per_tok":2})",
       .windows = WindowLayers::kAll,
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_local_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "intermediate_size"},
       .recurrent = {.layers = MixerLayers::kSecond,
                     .scan = ScanKind::kLightning,
                     .key_heads = "num_attention_heads",
                     .key_dim = "head_dim",
                     .value_heads = "num_attention_heads",
                     .value_dim = "head_dim"},
       .codes = {{.key = "attn_type_list",
                  .types = "layer_types",
                  .meanings = {{0, "linear_attention"}, {1, "full_attention"}}}},
       .unread = {"block_size", "rotary_dim", "shared_intermediate_size", "shared_moe_mode",
                  "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
                  "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta",
                  "layernorm_mlp_alpha", "layernorm_mlp_beta", "postnorm"}},
  };
}

constexpr ConfigRecurrent DerivedDeltaNet() {
  ConfigRecurrent net = kGatedDeltaNet;
  net.derived = true;
  return net;
}

std::vector<ConfigArchitecture> OlmoHybrid() {
  return {
      {.model_type = "olmo_hybrid",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,
                       "linear_conv_kernel_dim":4})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .width_norm = kYes,
       .recurrent = DerivedDeltaNet()},
  };
}

std::vector<ConfigArchitecture> Mambas() {
  return {
      {.model_type = "nemotron_h",
       .defaults = R"({"num_key_value_heads":8,"head_dim":128,"tie_word_embeddings":false,
                       "attention_bias":false,"mlp_bias":false,"use_bias":false,
                       "intermediate_size":21504,"ssm_state_size":128,"mamba_num_heads":128,
                       "mamba_head_dim":64,"n_groups":8,"conv_kernel":4,"use_conv_bias":true,
                       "n_routed_experts":8,"n_shared_experts":1,"moe_intermediate_size":7688,
                       "moe_shared_expert_intermediate_size":7688,"num_experts_per_tok":2})",
       .layer_norms = 1,
       .gated = false,
       .mlp_bias = kMlpBias,
       .tied = {},
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "n_routed_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size",
                   .shared = "n_shared_experts",
                   .shared_width = "moe_shared_expert_intermediate_size",
                   .latent = "moe_latent_size",
                   .unbiased = true},
       .recurrent = {.layers = MixerLayers::kBlocks,
                     .scan = ScanKind::kStates,
                     .key_heads = "n_groups",
                     .key_dim = "ssm_state_size",
                     .value_heads = "mamba_num_heads",
                     .value_dim = "mamba_head_dim",
                     .conv = "conv_kernel",
                     .conv_bias = {.key = "use_conv_bias"},
                     .linear_bias = {.key = "use_bias"}},
       .unread = {"chunk_size", "time_step_rank", "attention_bias", "mamba_proj_bias",
                  "num_query_groups"}},
  };
}

std::vector<ConfigArchitecture> MambasWithMlps() {
  return {
      {.model_type = "bamba",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,
                       "attention_bias":false,"mlp_bias":false,"mamba_n_heads":128,
                       "mamba_n_groups":1,"mamba_d_state":256,"mamba_d_conv":4,"mamba_expand":2,
                       "mamba_conv_bias":true,"mamba_proj_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias,
       .recurrent = Mamba2(MixerLayers::kIndices)},
      {.model_type = "granitemoehybrid",
       .defaults = R"({"tie_word_embeddings":false,"attention_bias":false,"num_local_experts":8,
                       "num_experts_per_tok":2,"shared_intermediate_size":1024,
                       "mamba_n_heads":128,"mamba_n_groups":1,"mamba_d_state":256,
                       "mamba_d_conv":4,"mamba_expand":2,"mamba_conv_bias":true,
                       "mamba_proj_bias":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_local_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "intermediate_size",
                   .shared_width = "shared_intermediate_size",
                   .may_be_none = true},
       .recurrent = Mamba2(MixerLayers::kTypes),
       .unread = {"normalization_function"}},
      {.model_type = "jamba",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,"num_experts":16,
                       "num_experts_per_tok":2,"expert_layer_period":2,"expert_layer_offset":1,
                       "attn_layer_period":8,"attn_layer_offset":4,"mamba_d_state":16,
                       "mamba_d_conv":4,"mamba_expand":2,"mamba_conv_bias":true,
                       "mamba_proj_bias":false})",
       .experts = {.layers = ExpertLayers::kPeriod,
                   .count = "num_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "intermediate_size",
                   .one_is_dense = true},
       .recurrent = {.layers = MixerLayers::kPeriod,
                     .scan = ScanKind::kSelective,
                     .key_dim = "mamba_d_state",
                     .conv = "mamba_d_conv",
                     .expand = "mamba_expand",
                     .step_rank = "mamba_dt_rank",
                     .conv_bias = {.key = "mamba_conv_bias"},
                     .linear_bias = {.key = "mamba_proj_bias"}},
       .unread = {"mamba_inner_layernorms", "n_ctx"}},
  };
}

// Short convolutions with gates in place of a scan.
std::vector<ConfigArchitecture> Lfm2() {
  constexpr ConfigRecurrent kConvolutions = {.layers = MixerLayers::kListed,
                                             .scan = ScanKind::kConvolution,
                                             .conv = "conv_L_cache",
                                             .conv_bias = {.key = "conv_bias"}};
  const std::vector<std::string_view> unread = {"block_dim",
                                                "block_mlp_init_scale",
                                                "block_out_init_scale",
                                                "block_use_swiglu",
                                                "conv_dim",
                                                "block_use_xavier_init",
                                                "conv_dim_out",
                                                "num_heads",
                                                "use_pos_enc",
                                                "conv_use_xavier_init",
                                                "block_ffn_dim_multiplier",
                                                "theta",
                                                "block_auto_adjust_ff_dim",
                                                "block_multiple_of",
                                                "use_expert_bias"};
  return {
      {.model_type = "lfm2",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":true,"conv_bias":false,
                       "conv_L_cache":3,"block_ffn_dim_multiplier":1.0,"block_multiple_of":256,
                       "block_auto_adjust_ff_dim":true})",
       .head_norm = kYes,
       .ffn_adjusted = true,
       .recurrent = kConvolutions,
       .renamed = {{"tie_embedding", "tie_word_embeddings"},
                   {"block_ff_dim", "intermediate_size"},
                   {"full_attn_idxs", "attn_layer_indices"}},
       .unread = unread},
      {.model_type = "lfm2_moe",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":true,"conv_bias":false,
                       "conv_L_cache":3,"first_k_dense_replace":2,"num_experts":32,
                       "num_experts_per_tok":4,"moe_intermediate_size":1792})",
       .head_norm = kYes,
       .experts = {.layers = ExpertLayers::kBehindFirst,
                   .count = "num_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size"},
       .recurrent = kConvolutions,
       .renamed = {{"tie_embedding", "tie_word_embeddings"},
                   {"num_dense_layers", "first_k_dense_replace"}},
       .unread = unread},
  };
}

}  // namespace

std::vector<ConfigArchitecture> RecurrentArchitectures() {
  return planner::Concatenate<ConfigArchitecture>(
      {DeltaNets, MiniMaxes, OlmoHybrid, Mambas, MambasWithMlps, Lfm2});
}

}  // namespace evenkeel::server
