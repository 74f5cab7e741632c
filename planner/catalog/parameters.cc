#include <algorithm>
#include <cstdint>

#include "planner/catalog/catalog.h"
#include "planner/catalog/specs.h"

namespace evenkeel::planner {
namespace {

int64_t NormParameters(Norm norm, int64_t width) {
  return norm == Norm::kLayerNorm ? 2 * width : width;
}

int64_t LinearParameters(int64_t in, int64_t out, bool bias) { return in * out + (bias ? out : 0); }

int64_t MlpParameters(int64_t hidden, int64_t ffn, bool gated, bool bias) {
  const int64_t up = LinearParameters(hidden, ffn, bias);
  return (gated ? 2 * up : up) + LinearParameters(ffn, hidden, bias);
}

// Queries and the joint key-value latent pass through low-rank bottlenecks, each with its norm; all
// heads share one rotary key. No biases. Without a query rank, queries are projected directly.
int64_t LatentAttentionParameters(const LanguageModel& model, const MlaSpec& mla) {
  const int64_t query_width = model.heads * (mla.qk_nope_dim + mla.qk_rope_dim);
  const int64_t query = mla.q_lora_rank > 0
                            ? model.hidden * mla.q_lora_rank + mla.q_lora_rank * query_width +
                                  NormParameters(model.norm, mla.q_lora_rank)
                            : model.hidden * query_width;
  const int64_t key_value = model.hidden * (mla.kv_lora_rank + mla.qk_rope_dim) +
                            NormParameters(model.norm, mla.kv_lora_rank) +
                            mla.kv_lora_rank * model.heads * (mla.qk_nope_dim + mla.v_dim);
  return query + key_value + model.heads * mla.v_dim * model.hidden;
}

int64_t AttentionParameters(const LanguageModel& model) {
  if (model.mla) return LatentAttentionParameters(model, *model.mla);
  const int64_t query_width = model.heads * model.head_dim;
  const int64_t qkv_width = query_width + 2 * model.kv_heads * model.head_dim;
  return LinearParameters(model.hidden, qkv_width, model.qkv_bias || model.linear_bias) +
         LinearParameters(query_width, model.hidden, model.linear_bias) +
         (model.qk_norm ? 2 * model.head_dim : 0);
}

// Returns the parameters of one mixture layer, of which `experts` routed experts count. The whole
// router counts, because every token is scored against every expert.
int64_t MixtureParameters(const LanguageModel& model, const MoeSpec& moe, int64_t experts) {
  const auto mlp = [&](int64_t ffn) {
    return MlpParameters(model.hidden, ffn, model.gated_mlp, model.linear_bias);
  };
  return LinearParameters(model.hidden, moe.experts, moe.expert_bias) +
         experts * mlp(moe.expert_ffn) + (moe.shared_ffn > 0 ? mlp(moe.shared_ffn) : 0);
}

int64_t LanguageModelParameters(const LanguageModel& model, bool active_only) {
  int64_t dense_layers = model.layers;
  int64_t mixtures = 0;
  if (model.moe) {
    const MoeSpec& moe = *model.moe;
    dense_layers = std::min(model.layers, moe.first_dense_layers);
    mixtures = (model.layers - dense_layers) *
               MixtureParameters(model, moe, active_only ? moe.top_k : moe.experts);
  }
  const int64_t norm = NormParameters(model.norm, model.hidden);
  // A layer that predicts a further token has a projection from 2 x hidden, its two norms and a
  // final one.
  const int64_t layer = AttentionParameters(model) + 2 * norm;
  const int64_t predictor =
      2 * model.hidden * model.hidden + 3 * norm + layer +
      (model.moe ? MixtureParameters(model, *model.moe,
                                     active_only ? model.moe->top_k : model.moe->experts)
                 : MlpParameters(model.hidden, model.ffn, model.gated_mlp, model.linear_bias));
  const int64_t tables = model.vocab * (model.tied_embeddings ? 1 : 2) + model.learned_positions;
  return model.layers * (AttentionParameters(model) + 2 * norm) +
         dense_layers * MlpParameters(model.hidden, model.ffn, model.gated_mlp, model.linear_bias) +
         mixtures + norm + tables * model.hidden + model.predicted_tokens * predictor;
}

}  // namespace

int64_t CountParameters(const LanguageModel& model) {
  return LanguageModelParameters(model, /*active_only=*/false);
}

int64_t CountActiveParameters(const LanguageModel& model) {
  return LanguageModelParameters(model, /*active_only=*/true);
}

int64_t CountParameters(const Encoder& encoder) {
  constexpr int64_t kColours = 3;
  const int64_t width = encoder.heads * encoder.head_dim;
  int64_t layer =
      LinearParameters(encoder.hidden, 3 * width, encoder.qkv_bias) +
      LinearParameters(width, encoder.hidden, encoder.linear_bias) +
      MlpParameters(encoder.hidden, encoder.ffn, encoder.gated_mlp, encoder.linear_bias) +
      2 * NormParameters(encoder.norm, encoder.hidden);
  if (encoder.qk_norm) layer += 2 * NormParameters(encoder.norm, width);
  if (encoder.layer_scale) layer += 2 * encoder.hidden;

  const int64_t patch_values =
      kColours * encoder.patch_pixels * encoder.patch_pixels * encoder.temporal_patch;
  const int64_t rows =
      encoder.class_tokens + (encoder.learned_positions ? encoder.tokens_per_unit : 0);
  return encoder.layers * layer +
         LinearParameters(patch_values, encoder.hidden, encoder.patch_bias) + rows * encoder.hidden;
}

int64_t CountParameters(const Projector& projector, int64_t llm_hidden) {
  return (projector.norm ? NormParameters(Norm::kLayerNorm, projector.input_width) : 0) +
         LinearParameters(projector.input_width, projector.hidden_width, /*bias=*/true) +
         LinearParameters(projector.hidden_width, llm_hidden, /*bias=*/true);
}

int64_t CountParameters(const ModelSpec& model) {
  int64_t total = CountParameters(model.language_model);
  for (const EncoderTower& tower : model.towers) {
    total += CountParameters(tower.encoder) +
             CountParameters(tower.projector, model.language_model.hidden);
  }
  return total;
}

}  // namespace evenkeel::planner
