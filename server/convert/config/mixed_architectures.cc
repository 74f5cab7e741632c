// Architectures whose layers differ in more than windows and experts, or attend in other ways.
#include "planner/base/concatenate.h"
#include "server/convert/config/architectures.h"

namespace evenkeel::server {
namespace {

using planner::ScanKind;

// Published configs mark layers with experts by numbers.
const ConfigCodes& ExpertCodes() {
  static const ConfigCodes codes = {.key = "moe_layer_freq",
                                    .types = "mlp_layer_types",
                                    .meanings = {{0, "dense"}, {1, "sparse"}}};
  return codes;
}

// Layers that attend to all have wider heads, whose keys may be their values too; the last ones may
// reuse earlier keys and values. Experts come in addition to a dense MLP, with norms of their own.
std::vector<ConfigArchitecture> Gemma4() {
  return {
      {.model_type = "gemma4_text",
       .defaults = R"({"num_key_value_heads":4,"head_dim":256,"global_head_dim":512,
                       "tie_word_embeddings":true,"attention_bias":false,"sliding_window":512,
                       "sliding_window_pattern":6,"vocab_size":262144,
                       "vocab_size_per_layer_input":262144,"hidden_size_per_layer_input":256,
                       "attention_k_eq_v":false,"num_kv_shared_layers":0,
                       "enable_moe_block":false,"use_double_wide_mlp":false})",
       .layer_norms = 4,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .windows = WindowLayers::kPattern,
       .last_is_full = true,
       .full = {.kv_heads = "num_global_key_value_heads",
                .head_dim = "global_head_dim",
                .one_projection = {.key = "attention_k_eq_v"}},
       .reusing_layers = "num_kv_shared_layers",
       .reusing_wide = {.key = "use_double_wide_mlp"},
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_experts",
                   .per_token = "top_k_experts",
                   .width = "moe_intermediate_size",
                   .shared_width = "intermediate_size",
                   .present = {.key = "enable_moe_block"},
                   .router_scales = true,
                   .norms = 3},
       .per_layer_vocab = "vocab_size_per_layer_input",
       .per_layer_width = "hidden_size_per_layer_input",
       .unread = {"num_experts", "top_k_experts", "moe_intermediate_size"}},
  };
}

// Streams that a layer reads and corrects, a low-rank residual, and MLPs of their own widths.
std::vector<ConfigArchitecture> Gemma3n() {
  return {
      {.model_type = "gemma3n_text",
       .defaults = R"({"num_key_value_heads":2,"head_dim":256,"tie_word_embeddings":true,
                       "attention_bias":false,"sliding_window":512,"sliding_window_pattern":5,
                       "vocab_size":262400,"hidden_size":2048,"intermediate_size":16384,
                       "num_hidden_layers":35,"num_attention_heads":8,
                       "vocab_size_per_layer_input":262144,"hidden_size_per_layer_input":256,
                       "num_kv_shared_layers":15,"altup_num_inputs":4,"laurel_rank":64})",
       .layer_norms = 4,
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .head_norm = kYes,
       .windows = WindowLayers::kPattern,
       .reusing_layers = "num_kv_shared_layers",
       .streams = "altup_num_inputs",
       .stream_kind = planner::StreamKind::kAltUp,
       .laurel = "laurel_rank",
       .per_layer_vocab = "vocab_size_per_layer_input",
       .per_layer_width = "hidden_size_per_layer_input"},
  };
}

// The decoder of an encoder-decoder. Its config is the encoder's too.
std::vector<ConfigArchitecture> WhisperDecoder() {
  return {
      {.model_type = "whisper",
       .defaults = R"({"vocab_size":51865,"decoder_layers":4,"decoder_attention_heads":6,
                       "decoder_ffn_dim":1536,"d_model":384,"max_target_positions":448,
                       "tie_word_embeddings":true})",
       .layers = "decoder_layers",
       .width = "d_model",
       .heads = "decoder_attention_heads",
       .norm = planner::Norm::kLayerNorm,
       .gated = false,
       .grouped = false,
       .qkv_bias = kYes,
       .out_bias = kYes,
       .mlp_bias = kYes,
       .key_bias = false,
       .cross = true,
       .positions = "max_target_positions",
       .ffn = "decoder_ffn_dim",
       .unread = {"encoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "num_mel_bins",
                  "encoder_layerdrop", "decoder_layerdrop", "use_weighted_layer_sum",
                  "classifier_proj_size", "median_filter_width", "hidden_size", "num_hidden_layers",
                  "num_attention_heads", "num_key_value_heads", "intermediate_size"}},
  };
}

// Every fifth layer attends to the encoder's output, in place of its own tokens.
std::vector<ConfigArchitecture> Mllama() {
  return {
      {.model_type = "mllama_text_model",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,
                       "cross_attention_layers":[3,8,13,18,23,28,33,38]})",
       .head_size = false,
       .cross_layers = "cross_attention_layers",
       .more_rows = 8},
  };
}

std::vector<ConfigArchitecture> MixedHeads() {
  return {
      {.model_type = "mimo_v2_flash",
       .defaults = R"({"num_key_value_heads":4,"head_dim":192,"v_head_dim":128,
                       "tie_word_embeddings":false,"attention_bias":false,"sliding_window":128,
                       "sliding_window_pattern":6,"n_routed_experts":256,"num_experts_per_tok":8,
                       "moe_intermediate_size":2048,"first_k_dense_replace":1})",
       .qkv_bias = kAttentionBias,
       .windows = WindowLayers::kBehindOne,
       .full = {.sinks = {.key = "add_full_attention_sink_bias"}},
       .windowed = {.heads = "swa_num_attention_heads",
                    .kv_heads = "swa_num_key_value_heads",
                    .head_dim = "swa_head_dim",
                    .value_dim = "swa_v_head_dim",
                    .kv_times = 2,
                    .sinks = {.key = "add_swa_attention_sink_bias", .fixed = true}},
       .value_dim = "v_head_dim",
       .experts = {.layers = ExpertLayers::kBehindFirst,
                   .count = "n_routed_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size"},
       .codes = {ExpertCodes(),
                 {.key = "hybrid_layer_pattern",
                  .types = "layer_types",
                  .meanings = {{0, "full_attention"}, {1, "sliding_attention"}}}},
       .unread = {"sliding_window_size", "attention_chunk_size"}},
      {.model_type = "minimax_m3_vl_text",
       .defaults = R"({"num_key_value_heads":4,"head_dim":128,"tie_word_embeddings":false,
                       "intermediate_size":3072,"dense_intermediate_size":12288,
                       "shared_intermediate_size":3072,"num_local_experts":128,
                       "num_experts_per_tok":4,"index_n_heads":4,"index_head_dim":128,
                       "index_block_size":128,"index_topk_blocks":16,"index_local_blocks":1})",
       .head_norm = kYes,
       .ffn = "dense_intermediate_size",
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "num_local_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "intermediate_size",
                   .shared_width = "shared_intermediate_size"},
       .block_index = true,
       .parts = {{.key = "sparse_attention_config",
                  .names = {{"sparse_num_index_heads", "index_n_heads"},
                            {"sparse_index_dim", "index_head_dim"},
                            {"sparse_block_size", "index_block_size"},
                            {"sparse_topk_blocks", "index_topk_blocks"},
                            {"sparse_local_block", "index_local_blocks"},
                            {"sparse_attention_freq", "sparse_attention_freq"}},
                  .unread = {"sparse_init_block"}}},
       .codes = {ExpertCodes(),
                 {.key = "sparse_attention_freq",
                  .types = "layer_types",
                  .meanings = {{0, "full_attention"}, {1, "minimax_m3_sparse"}}}},
       .unread = {"index_local_blocks", "n_shared_experts", "moe_intermediate_size",
                  "num_mtp_modules", "qk_norm_type", "use_gemma_norm", "use_qk_norm",
                  "use_routing_bias", "first_k_dense_replace", "rotary_dim"}},
  };
}

std::vector<ConfigArchitecture> DeepSeek4() {
  return {
      {.model_type = "deepseek_v4",
       .defaults = R"({"num_key_value_heads":1,"head_dim":512,"tie_word_embeddings":false,
                       "attention_bias":false,"mlp_bias":false,"q_lora_rank":1024,"o_groups":8,
                       "o_lora_rank":1024,"index_n_heads":64,"index_head_dim":128,
                       "index_topk":512,"compress_rate_csa":4,"compress_rate_hca":128,
                       "sliding_window":128,"hc_mult":4,"n_routed_experts":256,
                       "num_experts_per_tok":6,"moe_intermediate_size":2048})",
       .mlp_bias = kMlpBias,
       .sinks = true,
       .ffn = "moe_intermediate_size",
       .windows = WindowLayers::kCompressed,
       .experts = {.layers = ExpertLayers::kAll,
                   .count = "n_routed_experts",
                   .per_token = "num_experts_per_tok",
                   .width = "moe_intermediate_size",
                   .shared_width = "moe_intermediate_size",
                   .unbiased = true},
       .compressed = true,
       .streams = "hc_mult",
       .parts = {{.key = "compress_rates",
                  .names = {{"compressed_sparse_attention", "compress_rate_csa"},
                            {"heavily_compressed_attention", "compress_rate_hca"}}}},
       .codes = {{.key = "compress_ratios",
                  .types = "layer_types",
                  .meanings = {{0, "sliding_attention"},
                               {4, "compressed_sparse_attention"},
                               {128, "heavily_compressed_attention"}}}},
       .unread = {"qk_rope_head_dim", "num_hash_layers", "expert_dtype", "intermediate_size",
                  "n_shared_experts"}},
  };
}

// Attention and a Mamba-2 mixer read one norm, and their outputs are added.
std::vector<ConfigArchitecture> FalconH1() {
  return {
      {.model_type = "falcon_h1",
       .defaults = R"({"num_key_value_heads":8,"tie_word_embeddings":false,
                       "attention_bias":false,"mlp_bias":false,"mamba_d_ssm":1024,
                       "mamba_n_heads":128,"mamba_n_groups":1,"mamba_d_state":256,
                       "mamba_d_conv":4,"mamba_expand":2,"mamba_conv_bias":true,
                       "mamba_rms_norm":false})",
       .qkv_bias = kAttentionBias,
       .out_bias = kAttentionBias,
       .mlp_bias = kMlpBias,
       .recurrent = {.layers = MixerLayers::kBeside,
                     .scan = ScanKind::kStates,
                     .key_heads = "mamba_n_groups",
                     .key_dim = "mamba_d_state",
                     .value_heads = "mamba_n_heads",
                     .value_dim = "mamba_d_head",
                     .conv = "mamba_d_conv",
                     .expand = "mamba_expand",
                     .conv_bias = {.key = "mamba_conv_bias"},
                     .width = "mamba_d_ssm",
                     .norm = {.key = "mamba_rms_norm"}},
       .unread = {"mamba_norm_before_gate", "mamba_use_mlp"}},
  };
}

std::vector<ConfigArchitecture> KimiLinear() {
  return {
      {.model_type = "kimi_linear",
       .defaults = R"({"num_key_value_heads":32,"tie_word_embeddings":false,
                       "attention_bias":false,"kv_lora_rank":512,"q_lora_rank":null,
                       "qk_rope_head_dim":64,"v_head_dim":128,"qk_nope_head_dim":128,
                       "num_experts":256,"num_shared_experts":1,"num_experts_per_token":8,
                       "moe_intermediate_size":1024,"first_k_dense_replace":1,
                       "linear_head_dim":128,"linear_num_heads":32,"linear_conv_kernel_dim":4})",
       .latent = true,
       .attention_gate = {.key = "mla_use_output_gate"},
       .tied = {},
       .experts = {.layers = ExpertLayers::kBehindFirst,
                   .count = "num_experts",
                   .per_token = "num_experts_per_token",
                   .width = "moe_intermediate_size",
                   .shared = "num_shared_experts",
                   .latent = "routed_expert_hidden_size",
                   .latent_norm = {.key = "latent_moe_use_norm"}},
       .recurrent = {.layers = MixerLayers::kFifth,
                     .scan = ScanKind::kChannelDelta,
                     .key_heads = "linear_num_heads",
                     .key_dim = "linear_head_dim",
                     .value_heads = "linear_num_heads",
                     .value_dim = "linear_head_dim",
                     .conv = "linear_conv_kernel_dim",
                     .full_gate = {.key = "use_full_rank_gate"}},
       .stream_blocks = "attn_res_block_size",
       .parts = {{.key = "linear_attn_config",
                  .names = {{"head_dim", "linear_head_dim"},
                            {"num_heads", "linear_num_heads"},
                            {"short_conv_kernel_size", "linear_conv_kernel_dim"},
                            {"full_attn_layers", "full_attn_layers"},
                            {"kda_layers", "kda_layers"},
                            {"use_full_rank_gate", "use_full_rank_gate"}},
                  .unread = {"gate_lower_bound"}}},
       .places = {{"full_attn_layers", "full_attention"}, {"kda_layers", "linear_attention"}},
       .unread = {"num_expert_group", "moe_renormalize", "moe_router_activation_func",
                  "model_max_length"}},
  };
}

}  // namespace

std::vector<ConfigArchitecture> MixedArchitectures() {
  return planner::Concatenate<ConfigArchitecture>(
      {Gemma4, Gemma3n, WhisperDecoder, Mllama, MixedHeads, DeepSeek4, FalconH1, KimiLinear});
}

}  // namespace evenkeel::server
