// How the config.json of an architecture in Hugging Face's transformers describes a language model:
// one record per model_type.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_ARCHITECTURES_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_ARCHITECTURES_H_

#include <string_view>
#include <vector>

#include "planner/model/model_spec.h"
#include "server/convert/config_flag.h"

namespace evenkeel::server {

// Which layers have experts.
enum class ExpertLayers {
  kNone,
  kAll,
  kBehindFirst,  // those behind the first `first_k_dense_replace`
  kSparseStep,   // every `decoder_sparse_step`-th, but for `mlp_only_layers`
  kInterleaved,  // every `interleave_moe_layer_step`-th, or `moe_layers`
  kRange,  // every `moe_layer_interval`-th from `moe_layer_start_index` to `moe_layer_end_index`
  kPeriod  // in each `expert_layer_period` the one at `expert_layer_offset`
};

// Which layers attend, where others have a recurrent mixer. `layer_types` says so for all of these
// but kBlocks.
enum class MixerLayers {
  kNone,      // all attend
  kTypes,     // none without `layer_types`
  kInterval,  // every `full_attention_interval`-th
  kPeriod,    // in each `attn_layer_period` the one at `attn_layer_offset`
  kIndices,   // `attn_layer_indices`
  kBlocks     // layers are mixers or MLPs alone: `layers_block_type`, `hybrid_override_pattern`
};

// Which layers attend to a window, where the config has no `layer_types`.
enum class WindowLayers {
  kNone,
  kAll,          // all, if `sliding_window` is set
  kBehindFirst,  // those behind the first `max_window_layers`, if `use_sliding_window` is set
  kPattern,      // all but every `sliding_window_pattern`-th
  kChunks        // all but every `no_rope_layer_interval`-th, in chunks of `attention_chunk_size`
};

struct ConfigExperts {
  ExpertLayers layers = ExpertLayers::kNone;
  std::string_view count;         // key of the number of routed experts
  std::string_view per_token;     // key of those that a token visits
  std::string_view width;         // key of the inner width of one
  std::string_view shared;        // key of the number of shared experts, each as wide; empty: none
  std::string_view shared_width;  // key of their width together, in place of a number
  std::string_view latent;        // key of the width in which experts work
  bool unbiased = false;          // whatever the bias of other MLPs
  bool may_be_none = false;       // 0 experts leave the shared MLP alone
  bool router_bias = false;
  bool mlp_bias = false;
  bool shared_gate = false;
};

// The keys of planner::RecurrentSpec. `value_dim` may be "auto": `expand` times the hidden size
// over the heads. Where channels have no heads, `expand` and `step_rank` say how many there are.
struct ConfigRecurrent {
  MixerLayers layers = MixerLayers::kNone;
  planner::ScanKind scan = planner::ScanKind::kStates;
  std::string_view key_heads, key_dim, value_heads, value_dim, conv;
  std::string_view expand, step_rank;
  ConfigFlag conv_bias = {}, linear_bias = {};
};

struct ConfigArchitecture {
  std::string_view model_type;
  // What transformers takes for keys that the config leaves out, as JSON. Without `head_dim` it is
  // hidden_size / num_attention_heads, without `num_key_value_heads` one per attention head.
  std::string_view defaults;
  planner::Norm norm = planner::Norm::kRmsNorm;
  bool norm_weights = true;
  int layer_norms = 2;
  ConfigFlag parallel = {};  // attention and MLP beside each other share one norm
  bool gated = true;
  bool grouped = true;  // `num_key_value_heads` may be fewer than the heads
  bool latent = false;  // multi-head latent attention
  bool index = false;   // that sees the tokens which an index scores best
  ConfigFlag qkv_bias = {}, out_bias = {}, mlp_bias = {}, head_bias = {};
  ConfigFlag head_norm = {}, width_norm = {};  // of queries and keys
  bool sinks = false;
  ConfigFlag attention_gate = {};
  ConfigFlag tied = {.key = "tie_word_embeddings"};
  std::string_view ffn = "intermediate_size";  // key of the width of a dense MLP
  WindowLayers windows = WindowLayers::kNone;
  ConfigExperts experts = {};
  ConfigRecurrent recurrent = {};
  // Keys that published configs have, and that transformers reads nowhere.
  std::vector<std::string_view> unread = {};
  std::string_view source = "transformers 5.23";
};

// All of them.
const std::vector<ConfigArchitecture>& ConfigArchitectures();
// Those whose layers do not all attend.
std::vector<ConfigArchitecture> RecurrentArchitectures();

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_ARCHITECTURES_H_
