// How the config.json of an architecture in Hugging Face's transformers describes a language model:
// one record per model_type.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_ARCHITECTURES_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_ARCHITECTURES_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/model/model_spec.h"
#include "server/convert/config/flag.h"

namespace evenkeel::server {

// The layers that have experts.
enum class ExpertLayers {
  kNone,
  kAll,
  kBehindFirst,  // those after the first `first_k_dense_replace`
  kSparseStep,   // every `decoder_sparse_step`-th, except for `mlp_only_layers`
  kInterleaved,  // every `interleave_moe_layer_step`-th, or `moe_layers`
  kRange,  // every `moe_layer_interval`-th from `moe_layer_start_index` to `moe_layer_end_index`
  kPeriod  // in each `expert_layer_period` the one at `expert_layer_offset`
};

// The layers that have attention, if others have a recurrent mixer. If the config has
// `layer_types`, that list decides instead, except for kBlocks.
enum class MixerLayers {
  kNone,      // all layers have attention
  kTypes,     // no layer, unless `layer_types` says so
  kInterval,  // every `full_attention_interval`-th
  kPeriod,    // in each `attn_layer_period` the one at `attn_layer_offset`
  kIndices,   // `attn_layer_indices`
  kListed,    // `attn_layer_indices`, or all layers if there is no list
  kFifth,     // the fifth and every fourth after it
  kSecond,    // the first and every second after it
  kBeside,    // all layers have attention and a recurrent mixer, in parallel
  kBlocks     // each layer is only a mixer or MLP: `layers_block_type`, `hybrid_override_pattern`
};

// The layers that attend to a window, if the config has no `layer_types`.
enum class WindowLayers {
  kNone,
  kAll,          // all, if `sliding_window` is set
  kBehindFirst,  // those after the first `max_window_layers`, if `use_sliding_window` is set
  kPattern,      // all but every `sliding_window_pattern`-th
  kBehindOne,    // as kPattern, but the first layer has no window either
  // All layers, plus compressed entries: long ones in the first two layers, then long and short
  // alternating.
  kCompressed,
  kChunks  // all but every `no_rope_layer_interval`-th, in chunks of `attention_chunk_size`
};

struct ConfigExperts {
  ExpertLayers layers = ExpertLayers::kNone;
  std::string_view count;         // key of the number of routed experts
  std::string_view per_token;     // key of the number of experts that a token visits
  std::string_view width;         // key of the inner width of an expert
  std::string_view shared;        // key of the number of shared experts, each as wide; empty: none
  std::string_view shared_width;  // key of the shared experts' total width, in place of `shared`
  std::string_view latent;        // key of the width of rows in experts
  bool unbiased = false;          // experts have no bias, even if other MLPs have one
  bool may_be_none = false;       // with 0 experts, only the shared MLP remains
  bool one_is_dense = false;      // one expert is a dense MLP
  ConfigFlag present = kYes;      // if false, there are no experts
  bool router_scales = false;
  int norms = 0;  // norms over the width, in addition to those of the layer
  bool router_bias = false;
  bool mlp_bias = false;
  bool shared_gate = false;
  ConfigFlag latent_norm = {};
  bool of_images = false;  // `width` is a list: text experts, then image experts
};

// The keys of planner::RecurrentSpec. `value_dim` may be "auto": `expand` times the hidden size
// over the heads. Where channels have no heads, `expand` and `step_rank` say how many there are.
struct ConfigRecurrent {
  MixerLayers layers = MixerLayers::kNone;
  planner::ScanKind scan = planner::ScanKind::kStates;
  std::string_view key_heads, key_dim, value_heads, value_dim, conv;
  std::string_view expand, step_rank;
  ConfigFlag conv_bias = {}, linear_bias = {};
  std::string_view width = {};  // key of the width of values, in place of `expand`
  ConfigFlag norm = kYes;
  ConfigFlag full_gate = {};
  // Where the config does not say otherwise: the mixer has as many heads as attention; its keys
  // together have three quarters of the width, and its values are twice as wide.
  bool derived = false;
};

// Keys of the figures that layers with one kind of attention have instead of the model's.
struct ConfigLayerFigures {
  std::string_view heads = {}, kv_heads = {}, head_dim = {}, value_dim = {};
  int kv_times = 1;  // key heads over the model's, if the config does not give their number
  ConfigFlag sinks = {};
  ConfigFlag one_projection =
      {};  // keys are values too; if a key says so, `kv_heads` counts only then
};

// A list of numbers, one per layer, that stand for texts of the list `types`.
struct ConfigCodes {
  std::string_view key, types;
  std::vector<std::pair<int64_t, std::string_view>> meanings;
};

// A list of places, from 1, of layers of one type of `layer_types`.
struct ConfigPlaces {
  std::string_view key, type;
};

// An object of the config whose values are read as if they stood next to it, under their own keys
// or under those in `names`.
struct ConfigPart {
  std::string_view key;
  std::vector<std::pair<std::string_view, std::string_view>> names;
  std::vector<std::string_view> unread = {};
};

struct ConfigArchitecture {
  std::string_view model_type;
  // The values that transformers takes for keys that the config leaves out, as JSON. If it has none
  // for `head_dim`, that is hidden_size / num_attention_heads; for `num_key_value_heads`, it is the
  // number of attention heads.
  std::string_view defaults;
  std::string_view layers = "num_hidden_layers", width = "hidden_size",
                   heads = "num_attention_heads";
  planner::Norm norm = planner::Norm::kRmsNorm;
  ConfigFlag norm_weights = kYes;
  int layer_norms = 2;
  ConfigFlag parallel = {};  // attention and MLP run in parallel and share one norm
  bool gated = true;
  bool grouped = true;           // `num_key_value_heads` may be fewer than the heads
  ConfigFlag one_key_head = {};  // keys and values have one head, if they are not grouped
  bool head_size = true;         // if false, `head_dim` is not read: it follows from the heads
  bool latent = false;           // multi-head latent attention
  bool index = false;            // latent attention sees the tokens that an index scores best
  ConfigFlag qkv_bias = {}, out_bias = {}, mlp_bias = {}, head_bias = {};
  bool key_bias = true;                // if qkv_bias: keys have a bias too
  bool cross = false;                  // layers attend to the output of the encoder
  std::string_view cross_layers = {};  // key of the places of layers with only cross attention
  std::string_view positions = {};     // key of the rows of a learned table
  int64_t more_positions = 0;          // further rows of that table
  ConfigFlag head_norm = {}, width_norm = {};  // of queries and keys
  bool sinks = false;
  ConfigFlag attention_gate = {};
  ConfigFlag tied = {.key = "tie_word_embeddings"};
  // Key of the width of a dense MLP, or of a list with one for each layer.
  std::string_view ffn = "intermediate_size";
  bool ffn_adjusted = false;              // `block_auto_adjust_ff_dim` changes that width
  int64_t ffn_times = 0;                  // that width over the model's, if the config has none
  std::string_view scalars_with = {};     // value of `hidden_act` that has two learned scalars
  bool embedding_norm = false;            // LanguageModel::embedding_norm
  int64_t more_rows = 0;                  // LanguageModel::more_rows
  std::string_view embedding_width = {};  // key of a width that must be the model's
  WindowLayers windows = WindowLayers::kNone;
  bool last_is_full = false;  // the last layer has no window, even if the config gives it one
  ConfigLayerFigures full = {}, windowed = {};
  std::string_view value_dim = {};  // key of the width of a head of values, if it has its own
  // Keys of the last layers that reuse keys and values, and of whether their MLPs are twice as
  // wide.
  std::string_view reusing_layers = {};
  ConfigFlag reusing_wide = {};
  ConfigExperts experts = {};
  ConfigRecurrent recurrent = {};
  bool block_index = false;       // attention without latents has an index
  bool compressed = false;        // planner::CompressedSpec
  std::string_view streams = {};  // key of LanguageModel::streams
  planner::StreamKind stream_kind = planner::StreamKind::kHyper;
  std::string_view stream_blocks = {};  // key of the layers of a block of StreamKind::kBlocks
  std::string_view laurel = {};         // key of LanguageModel::laurel_rank
  std::string_view per_layer_vocab = {}, per_layer_width = {};  // keys of PerLayerSpec
  // Key of the layers that predict further tokens, each like the last layer.
  std::string_view predicted = {};
  std::vector<ConfigPart> parts = {};
  std::vector<ConfigCodes> codes = {};
  std::vector<ConfigPlaces> places = {};
  // Other names of keys, which count where the config lacks the key itself.
  std::vector<std::pair<std::string_view, std::string_view>> renamed = {};
  // Keys that may have only one value, and that value as JSON.
  std::vector<std::pair<std::string_view, std::string_view>> only = {};
  // Keys that published configs have, and that transformers reads nowhere.
  std::vector<std::string_view> unread = {};
  std::string_view source = "transformers 5.23";
};

// Returns all architectures.
const std::vector<ConfigArchitecture>& ConfigArchitectures();
// The functions below return groups of architectures. EarlyArchitectures are from before 2024, and
// have keys, positions or norms of their own.
std::vector<ConfigArchitecture> EarlyArchitectures();
// Architectures without code in transformers.
std::vector<ConfigArchitecture> OwnCodeArchitectures();
// Architectures with mixtures of experts and plain attention.
std::vector<ConfigArchitecture> MixtureArchitectures();
// Architectures in which not all layers have attention.
std::vector<ConfigArchitecture> RecurrentArchitectures();
// Architectures whose layers differ in more than windows and experts, or have another kind of
// attention.
std::vector<ConfigArchitecture> MixedArchitectures();

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_ARCHITECTURES_H_
