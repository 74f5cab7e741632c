#include "planner/cost/transformer_layer.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/model/layer_runs.h"

namespace evenkeel::planner {

RankHeads EncoderHeads(const Encoder& e, int64_t tensor) {
  const int64_t heads = CeilDivide(e.heads, tensor);
  return {heads, heads, e.head_dim, e.head_dim};
}

RankHeads LanguageHeads(const LanguageModel& m, const LanguageLayer& layer, int64_t tensor) {
  const int64_t heads = CeilDivide(layer.heads, tensor);
  if (m.mla) return {heads, heads, m.mla->qk_nope_dim + m.mla->qk_rope_dim, m.mla->v_dim};
  return {heads, std::max<int64_t>(1, layer.kv_heads / tensor), layer.head_dim, layer.value_dim};
}

Rows UnitRows(size_t encoder, int64_t rows_per_unit, double share) {
  return {.per_unit = PerEncoder<double>::Of(encoder, D(rows_per_unit)), .share = share};
}

Rows TokenRows(const Parallelism& p) {
  return {.per_token = 1, .share = 1 / static_cast<double>(p.context)};
}

namespace {

// Returns the encoder tokens that attend to each other. All units of a sample are one image, so
// that over the dataset tokens x this is the sum of squared images.
int64_t ImageTokens(const RankSetting& setting, const Encoder& e, size_t index) {
  double units = 0, squared = 0;
  for (const LengthBin& bin : setting.dataset.bins) {
    const double image = D(bin.units[index]);
    units += D(bin.count) * image;
    squared += D(bin.count) * image * image;
  }
  const double image = units > 0 ? squared / units : 1;
  return std::max<int64_t>(1, Nearest(image * D(e.tokens_per_unit)));
}

void AddOutputNorm(LayerBuilder& b, Norm norm, int64_t hidden) {
  b.Begin("output norm", kNorms);
  b.AddNorm(norm, D(hidden), b.shard());
}

}  // namespace

// No context-parallel rank holds a part of an image.
LayerWork EncoderLayerWork(const RankSetting& setting, const Encoder& e, size_t index,
                           bool windowed) {
  const int64_t image = e.native_resolution ? ImageTokens(setting, e, index) : e.tokens_per_unit;
  LayerBuilder b(setting, UnitRows(index, e.tokens_per_unit, setting.unit_share), e.train, e.lora);
  const bool conformer = e.conformer.conv_width > 0;
  if (conformer) AddFirstMlp(b, e);
  AddAttention(b, {.hidden = e.hidden,
                   .heads = e.heads,
                   .kv_heads = e.heads,
                   .rank = EncoderHeads(e, setting.parallelism.tensor),
                   .qkv_bias = e.qkv_bias,
                   .out_bias = e.linear_bias,
                   .key_bias = e.key_bias,
                   .head_norm = e.head_norm,
                   .width_norm = e.qk_norm,
                   .norm = e.norm,
                   .rotary = !e.learned_positions,
                   .sequence = windowed ? std::min(image, e.window_tokens) : image});
  if (conformer) AddConvolution(b, e);
  AddMlp(b, {.hidden = e.hidden,
             .ffn = e.ffn,
             .gated = e.gated_mlp,
             .bias = e.linear_bias,
             .norm = e.norm});
  for (int64_t i = conformer ? 4 : 2; i < e.layer_norms; ++i) AddOutputNorm(b, e.norm, e.hidden);
  if (e.layer_scale) {
    b.operation().reads_own = true;  // the gradient of the scale reads what it scales
    b.AddParameters(2 * static_cast<double>(e.hidden));
  }
  return b.Finish(static_cast<double>(e.hidden));
}

namespace {

void AddPlainAttention(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer) {
  AddAttention(
      b, {.hidden = m.hidden,
          .heads = layer.heads,
          .kv_heads = layer.kv_heads,
          .rank = LanguageHeads(m, layer, b.setting().parallelism.tensor),
          .qkv_bias = m.qkv_bias || m.linear_bias,
          .out_bias = m.out_bias || m.linear_bias,
          .key_bias = m.key_bias,
          .head_norm = m.qk_norm,
          .width_norm = m.width_qk_norm,
          .norm = m.norm,
          .rotary = m.learned_positions == 0,
          .kind = layer.attention,
          .window = layer.window_tokens,
          .sinks = m.attention_sinks || layer.sinks,
          .gated = m.attention_gate,
          .key_values = layer.key_values,
          .index = layer.attention == AttentionKind::kIndexed && m.index ? *m.index : IndexSpec{},
          .own_input = layer.mixer != Mixer::kBoth});
}

// A low-rank projection of the norm before attention, with a norm, is added to attention's output.
void AddLaurel(LayerBuilder& b, const LanguageModel& m) {
  const double h = D(m.hidden) * b.shard(), rank = D(m.laurel_rank) * b.shard();
  const double flops = 2 * D(m.hidden) * D(m.laurel_rank);
  b.Begin("low-rank residual");
  b.AddLinear({.in = m.hidden, .out = m.laurel_rank, .whole_flops = flops, .share = b.shard()});
  b.KeepInput(rank, 0);
  b.AddLinear({.in = m.laurel_rank, .out = m.hidden, .whole_flops = flops, .share = b.shard()});
  b.AddNorm(m.norm, D(m.hidden), b.shard());
  b.Stream(3 * h);
  b.Transient(2 * h + rank);
}

void AddMixer(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer) {
  const bool both = layer.mixer == Mixer::kBoth;
  if (layer.mixer != Mixer::kNone) AddHyperConnection(b, m);
  if (Recurs(layer.mixer)) AddRecurrent(b, m, *m.recurrent, /*own_residual=*/!both);
  if (!Attends(layer.mixer)) {
    if (layer.cross) AddCrossAttention(b, m, layer);
    return;
  }
  if (m.mla) {
    AddLatentAttention(b, m, layer, *m.mla);
  } else if (m.compressed) {
    AddCompressedAttention(b, m, layer, *m.compressed);
  } else {
    AddPlainAttention(b, m, layer);
    if (m.laurel_rank > 0) AddLaurel(b, m);
    if (layer.cross) AddCrossAttention(b, m, layer);
  }
}

// The part of a layer that reads its own vector of the second embedding.
void AddPerLayerInput(LayerBuilder& b, const LanguageModel& m, const PerLayerSpec& spec) {
  const double shard = b.shard(), h = D(m.hidden) * shard, width = D(spec.width) * shard;
  const double flops = 2 * D(m.hidden) * D(spec.width);
  b.Begin("per-layer gate");
  b.KeepInput(h, 0);
  b.AddLinear({.in = m.hidden, .out = spec.width, .whole_flops = flops, .share = shard});
  b.Keep(2 * width);  // before and after the activation; the vector is the embedding's
  b.Stream(4 * width);
  b.Begin("per-layer projection");
  b.KeepInput(width, 0);
  b.AddLinear({.in = spec.width, .out = m.hidden, .whole_flops = flops, .share = shard});
  b.Transient(2 * width + 2 * h);
  AddResidual(b, m.hidden);
}

}  // namespace

void AddDecoderLayer(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer) {
  if (m.stream_kind == StreamKind::kAltUp) AddAlternatingUpdate(b, m);
  AddMixer(b, m, layer);
  if (layer.mlp) AddHyperConnection(b, m);
  if (layer.mlp && layer.experts) {
    AddExperts(b, m, *m.moe);
  } else if (layer.mlp) {
    AddMlp(b, {.hidden = m.hidden,
               .ffn = layer.ffn,
               .gated = m.gated_mlp,
               .bias = m.linear_bias || m.mlp_bias,
               .norm = m.norm,
               .own_norm = m.layer_norms > 1 || layer.mixer == Mixer::kNone});
    for (int64_t i = 0; i < m.mlp_scalars; ++i) b.AddParameters(1);  // a tensor each
  }
  if (m.per_layer) AddPerLayerInput(b, m, *m.per_layer);
  // Attention and MLP have a norm each; the other norms scale their outputs.
  for (int64_t i = StandsAlone(layer) ? 1 : 2; i < NormsOf(m, layer); ++i)
    AddOutputNorm(b, m.norm, m.hidden);
}

LayerWork DecoderLayerWork(const RankSetting& setting, const LanguageModel& m,
                           const LanguageLayer& layer) {
  LayerBuilder b(setting, TokenRows(setting.parallelism), m.train, m.lora);
  b.OffloadsModules();
  AddDecoderLayer(b, m, layer);
  // All layers of a stage read one copy of the blocks.
  const bool blocks = m.streams > 1 && m.stream_kind == StreamKind::kBlocks;
  return b.Finish(D(blocks ? m.hidden : PassedWidth(m)));
}

}  // namespace evenkeel::planner
