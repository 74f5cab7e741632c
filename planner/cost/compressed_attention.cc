// Attention over a window and over compressed earlier tokens (DeepSeek-V4), and the residual
// streams around its blocks: section 1.2 of docs/COST_MODEL.md.
#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/transformer_layer.h"

namespace evenkeel::planner {
namespace {

// Widths per token of the two projections that make the entries of one kind: values and gates, in
// two series where an index picks entries, because neighbouring entries overlap.
int64_t EntryWidth(const LanguageLayer& layer, int64_t head_dim) {
  if (layer.entry_tokens == 0) return 0;
  return 2 * (layer.entries > 0 ? 2 : 1) * head_dim;
}

// Adds the projections of the layer's input. Every tensor-parallel rank has all of them, for its
// share of the rows, as with the latents of MLA.
void AddLatents(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer,
                const CompressedSpec& spec) {
  const double shard = b.shard(), h = D(m.hidden);
  const bool index = layer.entries > 0;
  const int64_t entries = EntryWidth(layer, layer.head_dim);
  const int64_t scored = index ? EntryWidth(layer, spec.index_dim) + spec.index_heads : 0;
  b.Begin("latents");
  b.KeepInput(h * b.gathered_shard(), kLoraQkv, kNorms);
  const auto down = [&](int64_t width, uint32_t target) {
    if (width == 0) return;
    b.AddLinear({.in = m.hidden,
                 .out = width,
                 .whole_flops = 2 * h * D(width),
                 .target = target,
                 .share = shard});
  };
  down(spec.q_rank, kLoraQkv);
  down(layer.head_dim, kLoraQkv);
  down(entries, 0);
  down(scored, 0);
  b.Transient((D(spec.q_rank + layer.head_dim + entries + scored) + 2 * h) * shard);

  b.Begin("latent norms", kNorms);
  b.AddNorm(m.norm, D(spec.q_rank), shard);
  b.AddNorm(m.norm, D(layer.head_dim), shard);
  if (layer.entry_tokens == 0) return;
  b.Begin("entries");
  const double rate = D(layer.entry_tokens), all = D(entries + scored);
  b.AddNorm(m.norm, D(layer.head_dim), shard / rate);
  if (index) b.AddNorm(m.norm, D(spec.index_dim), shard / rate);
  b.AddParameters(rate * D(entries + (index ? EntryWidth(layer, spec.index_dim) : 0)) / 2);
  b.Keep(all * shard);          // values and gates
  b.Stream(1.5 * all * shard);  // softmax of the gates, and the sum
  b.Transient(2 * all * shard);
}

void AddQueries(LayerBuilder& b, const LanguageLayer& layer, const CompressedSpec& spec,
                const RankHeads& rank) {
  const int64_t q = rank.heads * rank.head_size;
  b.Begin("queries");
  if (b.gathers()) b.TensorPass(D(spec.q_rank + layer.head_dim));
  b.KeepInput(D(spec.q_rank) * b.shard(), kLoraQkv, kNorms);
  b.AddLinear({.in = spec.q_rank,
               .out = q,
               .whole_flops = 2 * D(spec.q_rank) * D(layer.heads * layer.head_dim),
               .target = kLoraQkv});
  b.Keep(D(q));        // before its norm, which has no weights
  b.Stream(4 * D(q));  // the norm and the rotation
  b.Transient(2 * D(q));
  if (layer.entries == 0) return;
  const int64_t width = spec.index_heads * spec.index_dim;
  b.Begin("index");
  b.AddLinear({.in = spec.q_rank, .out = width, .whole_flops = 2 * D(spec.q_rank) * D(width)});
  AddIndexScores(b, spec.index_heads, spec.index_dim, layer.entry_tokens);
  b.Keep(D(width));
  b.Transient(2 * D(width));
}

// Adds the output projection: each group of heads through its own matrix, then one for all.
void AddGroupedOutput(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer,
                      const CompressedSpec& spec, const RankHeads& rank) {
  const int64_t groups = CeilDivide(spec.out_groups, b.setting().parallelism.tensor);
  const double h = D(m.hidden), out = D(rank.heads * rank.head_size);
  b.Begin("output groups");
  b.Stream(2 * out);  // rotated back
  b.KeepInput(out, kLoraAttentionOut);
  b.AddLinear({.in = layer.heads * layer.head_dim / spec.out_groups,
               .out = spec.out_rank,
               .whole_flops = 2 * D(layer.heads * layer.head_dim) * D(spec.out_rank),
               .target = kLoraAttentionOut,
               .share = D(groups),
               .copies = groups});
  b.Transient(2 * out + D(groups * spec.out_rank));
  b.Begin("attention output");
  b.KeepInput(D(groups * spec.out_rank), kLoraAttentionOut);
  b.AddLinear({.in = groups * spec.out_rank,
               .out = m.hidden,
               .whole_flops = 2 * D(spec.out_groups * spec.out_rank) * h,
               .target = kLoraAttentionOut});
  if (b.gathers()) b.TensorPass(h);
  b.Transient(D(groups * spec.out_rank) + h + h * b.shard());
}

}  // namespace

void AddCompressedAttention(LayerBuilder& b, const LanguageModel& m, const LanguageLayer& layer,
                            const CompressedSpec& spec) {
  const RankHeads rank = LanguageHeads(m, layer, b.setting().parallelism.tensor);
  b.Begin("input norm", kNorms);
  b.AddNorm(m.norm, D(m.hidden), b.shard());
  AddLatents(b, m, layer, spec);
  AddQueries(b, layer, spec, rank);
  AddCoreAttention(b,
                   {.heads = layer.heads,
                    .rank = rank,
                    .kind = layer.attention,
                    .window = layer.window_tokens,
                    .entry_tokens = layer.entry_tokens,
                    .entries = layer.entries},
                   0);
  if (m.attention_sinks || layer.sinks) b.AddParameters(D(rank.heads));
  AddGroupedOutput(b, m, layer, spec, rank);
  AddResidual(b, m.hidden);
}

namespace {

// Scores the outputs of earlier blocks, and sums them by the scores. Blocks are kept where they
// were made.
void AddBlockResidual(LayerBuilder& b, const LanguageModel& m) {
  const double shard = b.shard(), all = D(m.streams * m.hidden) * shard;
  b.Begin("block residual", kNorms);
  b.AddParameters((m.norm == Norm::kLayerNorm ? 3 : 2) * D(m.hidden));
  b.operation().flops += b.WholeRows(4 * D(m.streams * m.hidden));
  b.Keep(D(m.hidden) * shard + D(m.streams) * shard);
  b.Stream(2 * all + D(m.hidden) * shard);
  b.Transient(2 * D(m.hidden) * shard);
}

}  // namespace

void AddHyperConnection(LayerBuilder& b, const LanguageModel& m) {
  if (m.streams == 1 || m.stream_kind == StreamKind::kAltUp) return;
  const int64_t n = m.streams, weights = (2 + n) * n;
  const double shard = b.shard(), all = D(n * m.hidden) * shard;
  if (m.stream_kind == StreamKind::kBlocks) return AddBlockResidual(b, m);
  b.Begin("hyper-connection", kNorms);
  b.AddLinear({.in = n * m.hidden,
               .out = weights,
               .whole_flops = 2 * D(n * m.hidden) * D(weights),
               .share = shard});
  b.AddParameters(D(weights + 3));
  b.Keep(all);  // the streams, which the mixing reads too
  // Reads the streams for their weights, to collapse them and to mix them, and writes them.
  b.Stream(4 * all);
  b.Transient(2 * all);
}

// The routers of one stream weigh the prediction of every stream and its correction by the layer's
// output. Both read and write all streams.
void AddAlternatingUpdate(LayerBuilder& b, const LanguageModel& m) {
  const int64_t n = m.streams;
  const double shard = b.shard(), h = D(m.hidden), all = D(n) * h * shard;
  b.Begin("alternating update", kNorms);
  b.AddNorm(m.norm, h, shard);
  const auto linear = [&](int64_t in, int64_t out, bool shared) {
    b.AddLinear({.in = in,
                 .out = out,
                 .whole_flops = 2 * D(in) * D(out),
                 .share = shard,
                 .shared = shared});
  };
  linear(m.hidden, n, false);
  linear(m.hidden, n, true);  // the same router before the layer and after it
  linear(n, n * n, false);
  linear(n, n, false);
  b.operation().flops += b.WholeRows(2 * D(n * n) * h);
  b.AddParameters(h);  // the scale of the output
  b.Keep(2 * all);     // the streams, and what they are predicted to be
  b.Stream(6 * all);
  b.Transient(2 * all);
}

void AddStreamProjections(LayerBuilder& b, const LanguageModel& m) {
  const int64_t others = m.streams - 1;
  const double shard = b.shard(), h = D(m.hidden);
  b.Begin("stream projections");
  b.KeepInput(h * shard, 0);
  b.AddLinear({.in = m.hidden,
               .out = others * m.hidden,
               .whole_flops = 2 * h * D(others) * h,
               .share = shard});
  b.Keep(D(others) * h * shard);
  b.Stream(4 * D(others) * h * shard);  // each is scaled to the size of the first
  b.Transient(2 * D(m.streams) * h * shard);
}

}  // namespace evenkeel::planner
