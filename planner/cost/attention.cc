// Attention as operations: section 1.2 of docs/COST_MODEL.md.
#include "planner/base/integers.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {

void KeepOutputInput(LayerBuilder& b, const RankHeads& rank) {
  const double values = D(rank.heads * rank.value_size);
  if (b.setting().execution.attention == AttentionKernel::kUnfused) {
    b.KeepInput(values, kLoraAttentionOut);
  } else {
    b.KeepQuantised(values, kLoraAttentionOut);
  }
}

namespace {

// Bytes per value of Hugging Face's rotation (q cos + rotate_half(q) sin), forward and backward:
// measured on H100 (tests/measure/h100.jsonl, section "streaming").
constexpr double kEagerRotation[] = {38, 46};

// Adds the index of attention without latents. Every tensor-parallel rank has all of it.
void AddBlockIndex(LayerBuilder& b, const AttentionShape& s) {
  const int64_t width = (s.index.heads + 1) * s.index.head_dim;
  b.Begin("index");
  b.AddLinear({.in = s.hidden, .out = width, .whole_flops = 2 * D(s.hidden) * D(width)});
  b.AddParameters(2 * D(s.index.head_dim));
  b.Stream(2 * D(width));
  b.Keep(2 * D(width));
  AddIndexScores(b, s.index.heads, s.index.head_dim, 1);
  b.Transient(2 * D(width) + D(s.hidden));
}

// Widths per row of the projections of attention's input, on a rank or of the whole model.
struct InputWidths {
  int64_t queries = 0, keys = 0, values = 0, gates = 0;
  int64_t all() const { return queries + keys + values + gates; }
};

InputWidths WidthsOf(const AttentionShape& s, int64_t heads, int64_t kv_heads) {
  InputWidths widths{.queries = heads * s.rank.head_size};
  if (s.gated) widths.gates = heads * s.rank.value_size;
  if (s.key_values != KeyValues::kReused) widths.keys = kv_heads * s.rank.head_size;
  if (s.key_values == KeyValues::kProjected) widths.values = kv_heads * s.rank.value_size;
  return widths;
}

void AddProjections(LayerBuilder& b, const AttentionShape& s, const InputWidths& widths) {
  const double h = D(s.hidden);
  b.Begin("qkv");
  if (s.own_input) b.KeepInput(h * b.gathered_shard(), kLoraQkv, kNorms);
  b.Offloads(kOffloadQkv);
  if (b.gathers() && s.own_input) b.TensorPass(h);
  b.AddLinear({.in = s.hidden,
               .out = widths.all(),
               .whole_flops = 2 * h * D(WidthsOf(s, s.heads, s.kv_heads).all()),
               .bias = s.qkv_bias,
               .unbiased = s.key_bias ? 0 : widths.keys,
               .target = kLoraQkv,
               .products = {widths.queries, widths.keys, widths.values, widths.gates}});
  b.Transient(D(widths.all()) + (b.gathers() ? 2 : 1) * h + h * b.shard());
}

void AddQueryAndKeyNorm(LayerBuilder& b, const AttentionShape& s, const InputWidths& widths) {
  const double both = D(widths.queries + widths.keys);
  b.Begin("query and key norm", kNorms);
  if (s.width_norm) {
    b.AddNorm(s.norm, D(widths.queries), 1);
    b.AddNorm(s.norm, D(widths.keys), 1);
    return;
  }
  const double norms = widths.keys > 0 ? 2 : 1;
  b.AddParameters(norms * (s.norm == Norm::kLayerNorm ? 2 : 1) * D(s.rank.head_size));
  b.AddNormRows(s.norm, both, 1);
}

}  // namespace

void AddAttention(LayerBuilder& b, const AttentionShape& s) {
  const RankHeads& rank = s.rank;
  const double shard = b.shard(), h = D(s.hidden);
  const InputWidths widths = WidthsOf(s, rank.heads, rank.kv_heads);
  if (s.own_input) {
    b.Begin("input norm", kNorms);
    b.AddNorm(s.norm, h, shard);
    b.Offloads(kOffloadQkv);
    b.Transient(2 * h * shard);
  }
  AddProjections(b, s, widths);
  if (s.head_norm || s.width_norm) AddQueryAndKeyNorm(b, s, widths);
  if (s.rotary) {
    b.Begin("rotary");
    const double both = D(widths.queries + widths.keys);
    if (FusesRotary(b.setting().execution)) {
      b.Stream(2 * both);
    } else {
      b.operation().launches += 1;
      b.StreamBytes(kEagerRotation[0] * both, kEagerRotation[1] * both);
    }
  }
  if (s.index.heads > 0) AddBlockIndex(b, s);
  AddCoreAttention(b, s, 0);
  if (s.sinks) b.AddParameters(D(rank.heads));
  const double out = D(rank.heads * rank.value_size);
  if (s.gated) {
    b.Begin("output gate");
    b.Keep(2 * out);  // the gate, and its product with the output
    b.Stream(3 * out);
    b.Transient(2 * out);
  }

  b.Begin("attention output");
  KeepOutputInput(b, rank);
  b.AddLinear({.in = rank.heads * rank.value_size,
               .out = s.hidden,
               .whole_flops = 2 * h * D(s.heads * rank.value_size),
               .bias = s.out_bias,
               .target = kLoraAttentionOut});
  if (b.gathers()) b.TensorPass(h);
  b.Transient(out + h + h * shard);
  AddResidual(b, s.hidden);
}

void AddIndexScores(LayerBuilder& b, int64_t heads, int64_t head_dim, int64_t entry_tokens) {
  const KernelTime::Causal causal = b.setting().kernels.CausalAttention(heads, 1, head_dim);
  // Scores are the first of the two products of attention.
  const double per_square = 1 / D(entry_tokens);
  const PackCost scores{.constant = causal.constant,
                        .per_token = b.rows().share * causal.per_token / 2,
                        .per_squared = b.rows().share * per_square * causal.per_squared / 2};
  b.operation().attention = scores;
  b.operation().attention_gradients = 2 * scores;
  // Half of the pairs, 2 FLOPs each.
  b.operation().flops += {.per_squared = per_square * D(heads * head_dim)};
  b.operation().launches += 3;
}

namespace {

// Adds the heads that score all earlier tokens. Every tensor-parallel rank has all of them.
void AddIndex(LayerBuilder& b, const LanguageModel& m, const MlaSpec& mla) {
  const int64_t width = mla.index_heads * mla.index_dim;
  const double h = D(m.hidden);
  b.Begin("index");
  b.AddLinear(
      {.in = mla.q_lora_rank, .out = width, .whole_flops = 2 * D(mla.q_lora_rank) * D(width)});
  b.AddLinear({.in = m.hidden,
               .out = mla.index_dim + mla.index_heads,
               .whole_flops = 2 * h * D(mla.index_dim + mla.index_heads)});
  b.AddNorm(Norm::kLayerNorm, D(mla.index_dim), 1);
  AddIndexScores(b, mla.index_heads, mla.index_dim, 1);
  b.Keep(D(width + mla.index_dim + mla.index_heads));
  b.Transient(2 * D(width) + 2 * h);
}

void AddLatentNorms(LayerBuilder& b, const LanguageModel& m, const MlaSpec& mla) {
  b.Begin("latent norms", kLatentProjection);
  for (const int64_t rank : {mla.q_lora_rank, mla.kv_lora_rank}) {
    if (rank == 0) continue;
    b.AddNorm(m.norm, D(rank), b.shard());
    b.Offloads(kOffloadQkv);
  }
  b.Keep(D(mla.qk_rope_dim) * b.shard());
}

// Scales attention's output by a projection of its input.
void AddLatentGate(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer,
                   const RankHeads& rank) {
  const int64_t out = rank.heads * rank.value_size;
  b.Begin("output gate");
  b.AddLinear({.in = m.hidden,
               .out = out,
               .whole_flops = 2 * D(m.hidden) * D(layer.heads * rank.value_size),
               .target = kLoraQkv});
  b.Keep(2 * D(out));  // the gate, and its product with the output
  b.Stream(3 * D(out));
  b.Transient(2 * D(out));
}

}  // namespace

void AddLatentAttention(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer,
                        const MlaSpec& mla) {
  const RankHeads rank = LanguageHeads(m, layer, b.setting().parallelism.tensor);
  const double shard = b.shard(), h = D(m.hidden);
  const int64_t latent = mla.kv_lora_rank + mla.qk_rope_dim;
  const int64_t q = rank.heads * rank.head_size;
  const int64_t kv = rank.heads * (mla.qk_nope_dim + mla.v_dim);
  b.Begin("input norm", kNorms);
  b.AddNorm(m.norm, h, shard);
  b.Offloads(kOffloadAttentionNorm);
  // Every tensor-parallel rank has the whole down projections, for its share of the rows.
  b.Begin("latents");
  b.KeepInput(h * b.gathered_shard(), kLoraQkv, kNorms);
  b.Offloads(kOffloadQkv);
  const auto down = [&](int64_t width) {
    b.AddLinear({.in = m.hidden,
                 .out = width,
                 .whole_flops = 2 * h * D(width),
                 .target = kLoraQkv,
                 .share = shard});
  };
  if (mla.q_lora_rank > 0) down(mla.q_lora_rank);
  down(latent);
  b.Transient((D(mla.q_lora_rank + latent) + 2 * h) * shard);

  AddLatentNorms(b, m, mla);

  b.Begin("up projections", kLatentProjection);
  if (b.gathers()) b.TensorPass(D(mla.q_lora_rank + latent));
  if (mla.q_lora_rank > 0) {
    b.KeepInput(D(mla.q_lora_rank) * shard, kLoraQkv, kLatentProjection);
    b.Offloads(kOffloadQkv);
  }
  b.KeepInput(D(mla.kv_lora_rank) * shard, kLoraQkv, kLatentProjection);
  b.Offloads(kOffloadQkv);
  const int64_t query_in = mla.q_lora_rank > 0 ? mla.q_lora_rank : m.hidden;
  b.AddLinear({.in = query_in,
               .out = q,
               .whole_flops = 2 * D(query_in) * D(layer.heads * rank.head_size),
               .target = kLoraQkv});
  b.AddLinear(
      {.in = mla.kv_lora_rank,
       .out = kv,
       .whole_flops = 2 * D(mla.kv_lora_rank) * D(layer.heads * (mla.qk_nope_dim + mla.v_dim)),
       .target = kLoraQkv});
  b.Transient(D(q + kv) + h * shard);
  b.Begin("rotary", kLatentProjection);
  b.Stream(2 * D(2 * q + rank.heads * rank.value_size));
  b.Transient(D(2 * q + kv) + h * shard);

  if (mla.index_heads > 0) AddIndex(b, m, mla);
  AddCoreAttention(
      b,
      {.heads = layer.heads, .rank = rank, .kind = layer.attention, .window = layer.window_tokens},
      kLatentProjection);
  if (m.attention_gate) AddLatentGate(b, m, layer, rank);
  b.Begin("attention output");
  KeepOutputInput(b, rank);
  b.AddLinear({.in = rank.heads * rank.value_size,
               .out = m.hidden,
               .whole_flops = 2 * h * D(layer.heads * rank.value_size),
               .target = kLoraAttentionOut});
  if (b.gathers()) b.TensorPass(h);
  b.Transient(D(rank.heads * rank.value_size) + h + h * shard);
  AddResidual(b, m.hidden);
}

}  // namespace evenkeel::planner
