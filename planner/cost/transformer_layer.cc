#include "planner/cost/transformer_layer.h"

#include <algorithm>

#include "planner/base/integers.h"

namespace evenkeel::planner {

RankHeads EncoderHeads(const Encoder& e, int64_t tensor) {
  const int64_t heads = CeilDivide(e.heads, tensor);
  return {heads, heads, e.head_dim, e.head_dim};
}

RankHeads LanguageHeads(const LanguageModel& m, int64_t tensor) {
  const int64_t heads = CeilDivide(m.heads, tensor);
  if (m.mla) return {heads, heads, m.mla->qk_nope_dim + m.mla->qk_rope_dim, m.mla->v_dim};
  return {heads, std::max<int64_t>(1, m.kv_heads / tensor), m.head_dim, m.head_dim};
}

Rows TokenRows(const Parallelism& p) {
  return {.per_token = 1, .share = 1 / static_cast<double>(p.context)};
}

// Every context-parallel rank runs the whole encoder.
LayerWork EncoderLayerWork(const RankSetting& setting, const Encoder& e) {
  LayerBuilder b(setting, {.per_unit = static_cast<double>(e.tokens_per_unit)}, e.train, e.lora);
  AddAttention(b, {.hidden = e.hidden,
                   .heads = e.heads,
                   .kv_heads = e.heads,
                   .rank = EncoderHeads(e, setting.parallelism.tensor),
                   .qkv_bias = e.qkv_bias,
                   .out_bias = e.linear_bias,
                   .width_norm = e.qk_norm,
                   .norm = e.norm,
                   .rotary = !e.learned_positions,
                   .sequence = e.tokens_per_unit});
  AddMlp(b, {.hidden = e.hidden,
             .ffn = e.ffn,
             .gated = e.gated_mlp,
             .bias = e.linear_bias,
             .norm = e.norm});
  if (e.layer_scale) b.AddParameters(2 * static_cast<double>(e.hidden));
  return b.Finish(static_cast<double>(e.hidden));
}

void AddDecoderLayer(LayerBuilder& b, const LanguageModel& m, bool moe) {
  if (m.mla) {
    AddLatentAttention(b, m, *m.mla);
  } else {
    AddAttention(b, {.hidden = m.hidden,
                     .heads = m.heads,
                     .kv_heads = m.kv_heads,
                     .rank = LanguageHeads(m, b.setting().parallelism.tensor),
                     .qkv_bias = m.qkv_bias || m.linear_bias,
                     .out_bias = m.linear_bias,
                     .head_norm = m.qk_norm,
                     .norm = m.norm,
                     .rotary = m.learned_positions == 0});
  }
  if (moe) {
    AddExperts(b, m, *m.moe);
  } else {
    AddMlp(b, {.hidden = m.hidden,
               .ffn = m.ffn,
               .gated = m.gated_mlp,
               .bias = m.linear_bias,
               .norm = m.norm});
  }
}

LayerWork DecoderLayerWork(const RankSetting& setting, const LanguageModel& m, bool moe) {
  LayerBuilder b(setting, TokenRows(setting.parallelism), m.train, m.lora);
  AddDecoderLayer(b, m, moe);
  return b.Finish(static_cast<double>(m.hidden));
}

}  // namespace evenkeel::planner
