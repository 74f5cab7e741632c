// Architectures of language models and encoders. Plain values; dimensions are counts unless a
// suffix says otherwise.
#ifndef EVENKEEL_PLANNER_MODEL_MODEL_SPEC_H_
#define EVENKEEL_PLANNER_MODEL_MODEL_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::planner {

enum class Norm { kLayerNorm, kRmsNorm };

enum class TrainMode {
  kFull,    // all weights train
  kFrozen,  // no weight gradients, no optimizer state; activation gradients flow through it only if
            // something before it trains
  kLora     // frozen, with trained adapters next to some of its linear layers
};

// Linear layers that LoRA adapts (Hu 2021, arXiv 2106.09685). A set of them is their bitwise or.
enum LoraTarget : uint32_t {
  kLoraQkv = 1,           // queries, keys and values, or MLA's projections
  kLoraAttentionOut = 2,  // output projection of attention
  kLoraMlpUp = 4,         // gate and up projections of MLPs and shared experts, or a projector's
  kLoraMlpDown = 8        // down projections of the same MLPs
};

// Format of frozen linear layers: 16 bits, or 4-bit NormalFloat with a scale in fp32 for each 64
// weights, or with scales in 8 bits that have one in fp32 for each 256 (QLoRA, arXiv 2305.14314),
// or 8-bit integers whose scale for each row is not counted (LLM.int8, arXiv 2208.07339).
enum class FrozenFormat { k16Bit, kNf4, kNf4Double, kInt8 };
// Returns the bytes of one weight, its share of the scales included.
constexpr double BytesOf(FrozenFormat format) {
  switch (format) {
    case FrozenFormat::kNf4:
      return 0.5 + 4.0 / 64;
    case FrozenFormat::kNf4Double:
      return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
    case FrozenFormat::kInt8:
      return 1;
    case FrozenFormat::k16Bit:
      break;
  }
  return 2;
}

// Read only if the component's TrainMode is kLora. The adapter of a linear layer in -> out has two
// matrices, in x rank and rank x out.
struct LoraSpec {
  int64_t rank = 16;
  FrozenFormat base = FrozenFormat::k16Bit;  // of the component's frozen linear layers
  uint32_t targets = kLoraQkv | kLoraAttentionOut | kLoraMlpUp | kLoraMlpDown;
  // Tables of the language model that train in full, along with the adapters. A copy of the table
  // trains, and the frozen table stays in memory (ModulesToSaveWrapper of PEFT). Tied tables count
  // as one.
  bool train_embedding = false, train_head = false;
  bool dropout = false;  // of the adapters' inputs
};

enum class Modality { kImage, kVideo, kAudio };

// The layers that turn audio, which comes as 100 spectra a second, into tokens. They are either two
// convolutions over time, of which the second keeps every other spectrum (Whisper large v3, arXiv
// 2212.04356), or three convolutions over time and bins, each of which halves both, followed by a
// linear layer (Qwen3-Omni).
struct AudioFront {
  int64_t mel_bins = 128;
  int64_t channels = 0;  // of the three convolutions; 0: there are two, of the encoder's width
  // Above 0, there are two convolutions over time and bins instead of three, without biases and
  // each with a norm (Gemma 4). These are the channels of the second one.
  int64_t second_channels = 0;
  bool separable = false;  // the second and the third are depthwise, then pointwise (Phi-4)

  friend bool operator==(const AudioFront&, const AudioFront&) = default;
};

// Mixture of experts. Every layer after the first `first_dense_layers`, or every layer that
// LanguageModel::runs names, replaces its MLP by `experts` MLPs of width `expert_ffn`, of which
// each token visits `top_k`, and a shared MLP of width `shared_ffn` that every token visits (0 if
// there is none).
struct MoeSpec {
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t expert_ffn = 0;
  int64_t shared_ffn = 0;
  int64_t first_dense_layers = 0;
  bool expert_bias = false;  // a router bias per expert (DeepSeek-V3)
  bool mlp_bias = false;     // bias on both linear layers of every expert (GPT-OSS)
  bool shared_gate = false;  // the shared MLP's output is scaled by a learned gate (Qwen2-MoE)
  // Width of the rows that experts read and write; projections from and to the hidden size surround
  // the experts (Nemotron 3). 0: the hidden size.
  int64_t latent = 0;
  bool router_scales = false;  // learned scales of the router's input and of each expert (Gemma 4)
  bool latent_norm = false;    // a norm over `latent` of the experts' output (Kimi K3)
  // Inner width of a second set with the same number of experts and a router of its own. Tokens of
  // images, one for each unit, visit this set instead of the first (ERNIE-4.5-VL). 0: there is no
  // second set.
  int64_t image_ffn = 0;
};

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1).
struct MlaSpec {
  int64_t q_lora_rank = 0;
  int64_t kv_lora_rank = 0;
  int64_t qk_nope_dim = 0;
  int64_t qk_rope_dim = 0;
  int64_t v_dim = 0;
  // The index of sparse attention (DeepSeek-V3.2, arXiv 2512.02556): its heads score every earlier
  // token, and attention sees only the best ones. 0: there is no index.
  int64_t index_heads = 0;
  int64_t index_dim = 0;
};

// The index of sparse attention without latents (MiniMax-M3): heads that score every earlier token,
// with norms of queries and keys.
struct IndexSpec {
  int64_t heads = 0;
  int64_t head_dim = 0;

  friend bool operator==(const IndexSpec&, const IndexSpec&) = default;
};

// Attention in which each token has one key, which is also its value. Queries go through a low
// rank, and so does the output projection of each group of heads (DeepSeek-V4). Layers whose
// `entry_tokens` is set also see entries, each of which stands for that many earlier tokens.
struct CompressedSpec {
  int64_t q_rank = 0;
  int64_t out_groups = 0;
  int64_t out_rank = 0;  // of one group
  // The index that picks a layer's `entries`.
  int64_t index_heads = 0;
  int64_t index_dim = 0;

  friend bool operator==(const CompressedSpec&, const CompressedSpec&) = default;
};

// A second token embedding with a vector for each layer, which scales a narrow projection of the
// layer's output (Gemma 3n and 4).
struct PerLayerSpec {
  int64_t vocab = 0;
  int64_t width = 0;

  friend bool operator==(const PerLayerSpec&, const PerLayerSpec&) = default;
};

// Which earlier tokens of its sample a token sees: all; the last `window_tokens`, itself included;
// those of its own chunk, where a sample is cut into chunks of `window_tokens`; or the
// `window_tokens` that an index scores best.
enum class AttentionKind { kFull, kWindow, kChunked, kIndexed };

// How a recurrent mixer runs over the tokens of a sample.
enum class ScanKind {
  kSelective,     // Mamba (arXiv 2312.00752)
  kStates,        // Mamba-2 (arXiv 2405.21060): chunks of products
  kGatedDelta,    // Gated DeltaNet (arXiv 2412.06464): chunks of products
  kChannelDelta,  // Kimi Delta Attention (arXiv 2510.26692): as kGatedDelta, a decay per channel
  kLightning,     // Lightning Attention (arXiv 2401.04658): chunks of products, fixed decays
  // There is no scan: one gate scales the input of the short convolution, and another its output
  // (LFM2).
  kConvolution
};

// A mixer whose state does not grow with the sample: projections to queries, keys, values and a
// gate, a short convolution over the first three, the scan, a gated norm and an output projection.
// Mamba-2 calls the value heads heads, the key heads groups, and key_dim its state size. kSelective
// has value_heads channels with value_dim 1, one key head, and no queries or keys in the
// projection; kConvolution has such channels too, no keys and no norm.
struct RecurrentSpec {
  ScanKind scan = ScanKind::kStates;
  int64_t key_heads = 0;
  int64_t key_dim = 0;
  int64_t value_heads = 0;
  int64_t value_dim = 0;
  int64_t conv_width = 0;  // tokens; 0: there is no convolution
  bool conv_bias = false;
  bool linear_bias = false;
  int64_t step_rank = 0;   // rank of kSelective's step sizes
  int64_t gate_rank = 0;   // rank of kChannelDelta's projections to decays and to its gate
  bool norm = true;        // else the scan's output is only gated (Falcon-H1)
  bool full_gate = false;  // kChannelDelta's gate is a projection of its own, not of a low rank

  friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;
};

// Cross attention of a decoder's layers, to the tokens that the last encoder gives (Whisper, Llama
// 3.2 Vision).
struct CrossSpec {
  int64_t width = 0;             // of those tokens
  int64_t tokens_per_unit = 0;   // of the encoder
  bool head_norm = false;        // RMSNorm on each head of its queries and keys
  int64_t other_parameters = 0;  // of a layer with cross attention, such as gates

  friend bool operator==(const CrossSpec&, const CrossSpec&) = default;
};

// How layers read, mix and write residual streams.
enum class StreamKind {
  kHyper,  // hyper-connections (arXiv 2512.24880) around the mixer and around the MLP
  kAltUp,  // alternating updates (arXiv 2301.13310) around the layer, of one stream (Gemma 3n)
  // The streams are the outputs of earlier blocks of layers. Each mixer and each MLP reads a sum of
  // them that is weighted by scores (attention residuals, arXiv 2603.15031, Kimi K3). `streams`
  // counts the blocks.
  kBlocks
};

// The token mixer of a layer: attention, recurrence, both or none.
enum class Mixer {
  kAttention,
  kRecurrent,  // the model's RecurrentSpec
  kNone,       // the layer has only an MLP
  kBoth        // attention and the RecurrentSpec in parallel, whose outputs are added
};

constexpr bool Attends(Mixer mixer) { return mixer == Mixer::kAttention || mixer == Mixer::kBoth; }
constexpr bool Recurs(Mixer mixer) { return mixer == Mixer::kRecurrent || mixer == Mixer::kBoth; }

// Where keys and values come from.
enum class KeyValues {
  kProjected,
  kOneProjection,  // the keys are the values too, except for norms and rotation
  kReused          // those of the last earlier layer of its kind that projects them
};

// The properties in which the layers of one language model may differ. 0 stands for the model's own
// figure.
struct LanguageLayer {
  Mixer mixer = Mixer::kAttention;
  AttentionKind attention = AttentionKind::kFull;
  int64_t window_tokens = 0;  // except for kFull
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  bool experts = false;   // the model's MoeSpec in place of one MLP
  int64_t ffn = 0;        // width of the MLP
  bool mlp = true;        // if false, the layer has only a mixer: no MLP and no experts
  int64_t value_dim = 0;  // of a head; 0: head_dim
  KeyValues key_values = KeyValues::kProjected;
  bool sinks = false;  // as LanguageModel::attention_sinks, of these layers
  // Only in a model with a CompressedSpec: the tokens that one entry stands for (0: there are no
  // entries), and how many entries a token sees, the best by an index (0: all).
  int64_t entry_tokens = 0;
  int64_t entries = 0;
  // The layer has the cross attention of LanguageModel::cross, after its own attention, or in place
  // of it if `mixer` is kNone.
  bool cross = false;

  friend bool operator==(const LanguageLayer&, const LanguageLayer&) = default;
};

// Equal layers in a row.
struct LayerRun {
  LanguageLayer layer;
  int64_t count = 0;
};

// A decoder-only transformer.
struct LanguageModel {
  std::string name;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  bool gated_mlp = false;
  Norm norm = Norm::kRmsNorm;
  int64_t vocab = 0;
  bool tied_embeddings = false;  // the output head reuses the input embedding
  bool qkv_bias = false;         // bias on the QKV projection only
  bool linear_bias = false;      // bias on every linear layer (GPT-3, Megatron); implies qkv_bias
  bool qk_norm = false;          // RMSNorm on each head of q and k
  // Rows of a learned position table. 0 stands for rotary positions, or for a table that follows
  // the run's sequence length.
  int64_t learned_positions = 0;
  std::optional<MoeSpec> moe = std::nullopt;
  std::optional<MlaSpec> mla = std::nullopt;
  // Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): layers after the last one,
  // each with a projection from 2 x hidden to hidden and a pass of its own through the head. They
  // run with the head.
  int64_t predicted_tokens = 0;
  TrainMode train = TrainMode::kFull;
  LoraSpec lora = {};
  // Sum to `layers`. If empty, layers differ only in their experts: MoeSpec::first_dense_layers.
  std::vector<LayerRun> runs = {};
  // Norms over the width of a layer: 2 before attention and MLP, or after them; 4 for both; 1 where
  // attention and MLP run in parallel.
  int64_t layer_norms = 2;
  bool norm_weights = true;      // if false, norms have no learned scale
  bool out_bias = false;         // bias on the output projection of attention
  bool mlp_bias = false;         // bias on the linear layers of dense MLPs
  bool width_qk_norm = false;    // norm over the width of all heads of q, and of k
  bool attention_sinks = false;  // a learned logit per head that takes part in the softmax
  bool head_bias = false;        // bias on the output head
  bool attention_gate = false;   // attention's output is scaled by a projection of its input
  std::optional<RecurrentSpec> recurrent = std::nullopt;
  std::optional<IndexSpec> index = std::nullopt;            // of layers that are kIndexed
  std::optional<CompressedSpec> compressed = std::nullopt;  // of all layers
  std::optional<PerLayerSpec> per_layer = std::nullopt;
  // Residual streams that layers read, mix and write by learned weights. 1: the usual sum.
  int64_t streams = 1;
  StreamKind stream_kind = StreamKind::kHyper;
  // Rank of a projection of attention's input that is added to its output, with a norm of its own
  // (LAuReL, arXiv 2411.07501). 0: there is none.
  int64_t laurel_rank = 0;
  bool key_bias = true;                           // if qkv_bias: keys have a bias too
  std::optional<CrossSpec> cross = std::nullopt;  // of layers whose `cross` is set
  int64_t mlp_scalars = 0;      // learned scalars of a dense MLP's activation (Apertus)
  bool embedding_norm = false;  // after the token embedding (BLOOM)
  int64_t more_rows = 0;        // rows of the token embedding that the head lacks
};

// Return whether the table of the model's token embedding, or of its head, trains along with
// adapters.
inline bool SavesEmbedding(const LanguageModel& m) {
  return m.train == TrainMode::kLora &&
         (m.lora.train_embedding || (m.tied_embeddings && m.lora.train_head));
}
inline bool SavesHead(const LanguageModel& m) {
  return m.train == TrainMode::kLora &&
         (m.lora.train_head || (m.tied_embeddings && m.lora.train_embedding));
}

// The additional parts of a conformer's layer (arXiv 2005.08100): a second MLP before attention,
// and, between attention and the other MLP, a projection to twice the width, half of which is a
// gate, and a convolution over tokens for each channel.
struct ConformerSpec {
  int64_t conv_width = 0;        // tokens; 0: the layer is no conformer's
  int64_t pointwise = 1;         // number of hidden x hidden products after the convolution
  int64_t other_parameters = 0;  // of a layer, read by no product of its rows
  bool conv_bias = false;

  friend bool operator==(const ConformerSpec&, const ConformerSpec&) = default;
};

// A transformer encoder with a fixed number of tokens per unit (tile, frame, stretch of audio). An
// audio encoder has an AudioFront in place of patches, and no learned positions. At native
// resolution a unit is one token of the language model: the patches, or tokens of audio, that are
// merged into it.
struct Encoder {
  std::string name;
  Modality modality = Modality::kImage;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  bool gated_mlp = false;
  Norm norm = Norm::kLayerNorm;
  bool qkv_bias = true;     // biases on the QKV projection
  bool linear_bias = true;  // biases on the other linear layers
  bool qk_norm = false;     // norm over the full width of q and k
  bool layer_scale = false;
  int64_t patch_pixels = 14;
  int64_t temporal_patch = 1;     // frames that one patch spans
  bool patch_bias = true;         // bias on the patch embedding
  int64_t class_tokens = 1;       // learned tokens among tokens_per_unit that are not patches
  bool learned_positions = true;  // one row per token of a unit; else rotary
  int64_t tokens_per_unit = 0;    // tokens inside the encoder per unit, class token included
  // Tokens that one unit becomes in the language model. 0: none; layers of the language model
  // attend to the encoder's tokens instead.
  int64_t llm_tokens_per_unit = 0;
  // Attention covers a whole image of any size instead of one unit (Qwen2-VL). Lengths do not tell
  // the images of a sample apart, so all units of a sample count as one image.
  bool native_resolution = false;
  TrainMode train = TrainMode::kFull;
  LoraSpec lora = {};
  // At native resolution: tokens of the window to which attention is limited, except in
  // `full_layers` (indices from 0). 0: attention covers the whole image in all layers.
  int64_t window_tokens = 0;
  std::vector<int64_t> full_layers = {};
  int64_t other_parameters = 0;  // besides layers, patches and positions, such as a final norm
  bool key_bias = true;          // if qkv_bias: keys have a bias too (not in Whisper)
  AudioFront front = {};         // read only if the modality is audio
  bool head_norm = false;        // RMSNorm on each head of q and k
  int64_t layer_norms = 2;       // 4: also after attention and after the MLP
  ConformerSpec conformer = {};
  // Each image is scaled to one unit instead of being cut into tiles. Only the default dataset
  // depends on it.
  bool image_is_unit = false;
};

// How tensor-parallel ranks split a linear layer: by its outputs, or by its inputs.
enum class Split { kNone, kOutputs, kInputs };

// A part of a projector: a norm, and a linear layer.
struct ProjectorStep {
  int64_t rows = 1;  // per unit
  int64_t in = 0;
  int64_t out = 0;  // 0: only the norm
  bool bias = true;
  bool gated = false;  // another layer of the same shape scales its output
  Split split = Split::kNone;
  int64_t norm_width = 0;  // of the norm before it; 0: there is none
  Norm norm = Norm::kLayerNorm;

  friend bool operator==(const ProjectorStep&, const ProjectorStep&) = default;
};

// Layers with learned tokens, which attend to the encoder's tokens and to each other and become the
// unit's tokens in the language model (Perceiver, arXiv 2103.03206, Idefics2). Gated MLPs, no
// biases.
struct ResamplerSpec {
  int64_t layers = 0;  // 0: there is no resampler
  int64_t latents = 0;
  int64_t context = 0;  // tokens of a unit that come from the encoder
  int64_t width = 0;
  int64_t ffn = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;

  friend bool operator==(const ResamplerSpec&, const ResamplerSpec&) = default;
};

// Norm(input_width), Linear input_width -> hidden_width, GELU, Linear hidden_width -> LLM hidden;
// or a single Linear input_width -> LLM hidden, where hidden_width is 0. input_width counts the
// channels after token merging (pixel shuffle 2x2: 4 x encoder hidden).
struct Projector {
  int64_t input_width = 0;
  int64_t hidden_width = 0;
  bool norm = false;
  TrainMode train = TrainMode::kFull;
  LoraSpec lora = {};
  Norm norm_kind = Norm::kLayerNorm;
  int64_t norm_width = 0;     // 0: input_width
  int64_t merging_width = 0;  // a Linear without bias from input_width comes first; 0: none does
  bool bias = true;
  // Further projectors of the outputs of earlier layers, each with a norm over input_width: their
  // results are added inside the language model (Qwen3-VL).
  int64_t deep_stacked = 0;
  // If not empty, the projector consists of these steps, and the fields above do not count. The
  // last step gives the rows that the language model or the resampler reads.
  std::vector<ProjectorStep> steps = {};
  ResamplerSpec resampler = {};
};

struct EncoderTower {
  Encoder encoder;
  Projector projector;
};

// A language model and the towers that feed it. A text-only model has no towers.
struct ModelSpec {
  std::string name;
  std::vector<EncoderTower> towers;
  LanguageModel language_model;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_MODEL_SPEC_H_
