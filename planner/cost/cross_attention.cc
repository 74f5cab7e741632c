// Attention of a decoder's layer to the output of an encoder: section 1.2 of docs/COST_MODEL.md.
#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {
namespace {

// Returns the encoder's tokens that a token attends to: those of its sample's units, in the mean
// over all tokens, so that their sum over the dataset is exact.
int64_t SeenTokens(const RankSetting& setting, size_t encoder, const CrossSpec& cross) {
  double tokens = 0, units = 0;
  for (const LengthBin& bin : setting.dataset.bins) {
    const double of_bin = D(bin.count) * D(bin.llm_tokens);
    tokens += of_bin;
    units += of_bin * D(bin.units[encoder]);
  }
  const double mean = tokens > 0 ? units / tokens : 1;
  return std::max<int64_t>(1, Nearest(mean * D(cross.tokens_per_unit)));
}

// Returns the share of one copy of the encoder's tokens that counts at each layer: a stage, or a
// chunk of one, keeps one copy for all its layers.
double CopyOfALayer(const RankSetting& setting, const LanguageModel& m) {
  const Parallelism& p = setting.parallelism;
  return std::min(1.0, D(p.pipeline * p.virtual_stages) / D(m.layers));
}

// Norms of `width`, head by head, which share their weights.
void AddHeadNorm(LayerBuilder& b, int64_t width, int64_t head) {
  b.Begin("cross query and key norm", kNorms);
  b.AddParameters(D(head));
  b.AddNormRows(Norm::kRmsNorm, D(width), 1);
}

}  // namespace

// Every context-parallel rank projects the keys and values of all the encoder's tokens.
void AddCrossAttention(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer) {
  constexpr size_t kEncoder = 0;
  const RankSetting& setting = b.setting();
  const RankHeads rank = LanguageHeads(m, layer, setting.parallelism.tensor);
  const double h = D(m.hidden), shard = b.shard(), width = D(m.cross->width);
  const bool bias = m.qkv_bias || m.linear_bias;
  const Rows own = b.rows();
  b.Begin("cross norm", kNorms);
  b.AddNorm(m.norm, h, shard);
  b.Begin("cross queries");
  b.KeepInput(h * b.gathered_shard(), kLoraQkv, kNorms);
  if (b.gathers()) b.TensorPass(h);
  const int64_t queries = rank.heads * rank.head_size;
  b.AddLinear({.in = m.hidden,
               .out = queries,
               .whole_flops = 2 * h * D(layer.heads * rank.head_size),
               .bias = bias,
               .target = kLoraQkv});
  b.Transient(D(queries) + (b.gathers() ? 2 : 1) * h + h * shard);
  if (m.cross->head_norm) AddHeadNorm(b, queries, rank.head_size);

  b.SetRows(UnitRows(kEncoder, m.cross->tokens_per_unit, /*share=*/1));
  b.Begin("cross keys and values");
  const int64_t keys = rank.kv_heads * rank.head_size, values = rank.kv_heads * rank.value_size;
  b.KeepAlways(width * b.gathered_shard() * CopyOfALayer(setting, m));
  if (b.gathers()) b.TensorPass(width);
  b.AddLinear({.in = m.cross->width,
               .out = keys + values,
               .whole_flops = 2 * width * D(layer.kv_heads) * D(rank.head_size + rank.value_size),
               .bias = bias,
               .unbiased = m.key_bias ? 0 : keys,
               .target = kLoraQkv,
               .fixed_input = !setting.encoder_trains});
  b.Keep(D(keys + values));
  b.Transient(D(keys + values) + width * shard);
  if (m.cross->head_norm) AddHeadNorm(b, keys, rank.head_size);

  b.SetRows(own);
  AddCoreAttention(b,
                   {.heads = layer.heads,
                    .rank = rank,
                    .sequence = SeenTokens(setting, kEncoder, *m.cross),
                    .key_values = KeyValues::kReused},
                   0);
  b.Begin("cross output");
  KeepOutputInput(b, rank);
  b.AddLinear({.in = rank.heads * rank.value_size,
               .out = m.hidden,
               .whole_flops = 2 * h * D(layer.heads * rank.value_size),
               .bias = m.out_bias || m.linear_bias,
               .target = kLoraAttentionOut});
  if (b.gathers()) b.TensorPass(h);
  b.Transient(D(rank.heads * rank.value_size) + h + h * shard);
  if (m.cross->other_parameters > 0) {  // gates of attention and of the MLP
    for (int64_t i = 0; i < m.cross->other_parameters; ++i) b.AddParameters(1);  // a tensor each
    b.Stream(4 * h * shard);
  }
  AddResidual(b, m.hidden);
}

// Small compared with the encoder, so every tensor-parallel rank has all of it.
void AddResampler(LayerBuilder& b, const ResamplerSpec& r) {
  const double w = D(r.width), all = D(r.latents + r.context) / D(r.latents);
  const int64_t queries = r.heads * r.head_dim, keys = 2 * r.kv_heads * r.head_dim;
  const auto linear = [&](int64_t in, int64_t out, double share, uint32_t target) {
    b.KeepInput(D(in) * share, target);
    b.AddLinear({.in = in,
                 .out = out,
                 .whole_flops = 2 * share * D(in) * D(out),
                 .target = target,
                 .share = share});
    b.Transient(share * D(in + out));
  };
  b.Begin("latents");
  b.AddParameters(D(r.latents) * w);
  for (int64_t i = 0; i < r.layers; ++i) {
    b.Begin("resampler norms");
    b.AddNorm(Norm::kRmsNorm, w, 1);
    b.AddNorm(Norm::kRmsNorm, w, all - 1);
    b.Begin("resampler inputs");
    linear(r.width, queries, 1, kLoraQkv);
    linear(r.width, keys, all, kLoraQkv);
    b.Keep(all * D(keys));
    AddCoreAttention(b,
                     {.heads = r.heads,
                      .rank = {r.heads, r.kv_heads, r.head_dim, r.head_dim},
                      .sequence = r.latents + r.context,
                      .key_values = KeyValues::kReused},
                     0);
    b.Begin("resampler output");
    linear(queries, r.width, 1, kLoraAttentionOut);
    b.Begin("resampler mlp");
    b.AddNorm(Norm::kRmsNorm, w, 1);
    linear(r.width, 2 * r.ffn, 1, kLoraMlpUp);
    b.Keep(2 * D(r.ffn));
    b.Stream(5 * D(r.ffn));
    linear(r.ffn, r.width, 1, kLoraMlpDown);
    b.Stream(6 * w);  // both residuals
  }
  b.Begin("resampler norm");
  b.AddNorm(Norm::kRmsNorm, w, 1);
}

}  // namespace evenkeel::planner
