#include "planner/model/parameters.h"

#include <cstdint>

#include "planner/model/audio_front.h"
#include "planner/model/layer_runs.h"

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
  const int64_t index_width = mla.index_heads * mla.index_dim;
  const int64_t index = mla.index_heads == 0
                            ? 0
                            : mla.q_lora_rank * index_width +
                                  model.hidden * (mla.index_dim + mla.index_heads) +
                                  NormParameters(Norm::kLayerNorm, mla.index_dim);
  return query + key_value + index + model.heads * mla.v_dim * model.hidden;
}

// The entries of a layer whose index picks some are made of two series of projections, those of
// other layers of one. Each has gates, a bias per position in an entry, and a norm.
int64_t CompressedAttentionParameters(const LanguageModel& model, const LanguageLayer& layer,
                                      const CompressedSpec& spec) {
  const int64_t width = layer.heads * layer.head_dim;
  const auto norm = [&](int64_t of) { return NormParameters(model.norm, of); };
  const auto entries = [&](int64_t series, int64_t of) {
    return (2 * model.hidden + layer.entry_tokens) * series * of + norm(of);
  };
  int64_t parameters = model.hidden * (spec.q_rank + layer.head_dim) + norm(spec.q_rank) +
                       norm(layer.head_dim) + spec.q_rank * width + width * spec.out_rank +
                       spec.out_groups * spec.out_rank * model.hidden;
  if (model.attention_sinks || layer.sinks) parameters += layer.heads;
  if (layer.entry_tokens == 0) return parameters;
  if (layer.entries == 0) return parameters + entries(1, layer.head_dim);
  return parameters + entries(2, layer.head_dim) + entries(2, spec.index_dim) +
         spec.q_rank * spec.index_heads * spec.index_dim + model.hidden * spec.index_heads;
}

// Widths of the projections of keys and values.
int64_t KeyValueWidth(const LanguageLayer& layer) {
  switch (layer.key_values) {
    case KeyValues::kProjected:
      return layer.kv_heads * (layer.head_dim + layer.value_dim);
    case KeyValues::kOneProjection:
      return layer.kv_heads * layer.head_dim;
    case KeyValues::kReused:
      break;
  }
  return 0;
}

int64_t IndexParameters(const LanguageModel& model, const LanguageLayer& layer) {
  if (!model.index || layer.attention != AttentionKind::kIndexed) return 0;
  return model.hidden * (model.index->heads + 1) * model.index->head_dim +
         2 * NormParameters(model.norm, model.index->head_dim);
}

// A norm, queries from the layer's input, keys and values from the encoder's tokens, and an output
// projection.
int64_t CrossAttentionParameters(const LanguageModel& model, const LanguageLayer& layer) {
  if (!layer.cross || !model.cross) return 0;
  const int64_t queries = layer.heads * layer.head_dim, keys = layer.kv_heads * layer.head_dim;
  const int64_t values = layer.kv_heads * layer.value_dim, out = layer.heads * layer.value_dim;
  const bool bias = model.qkv_bias || model.linear_bias;
  return LinearParameters(model.hidden, queries, bias) +
         LinearParameters(model.cross->width, keys + values, bias) -
         (bias && !model.key_bias ? keys : 0) +
         LinearParameters(out, model.hidden, model.out_bias || model.linear_bias) +
         NormParameters(model.norm, model.hidden) +
         (model.cross->head_norm ? 2 * layer.head_dim : 0) + model.cross->other_parameters;
}

int64_t LaurelParameters(const LanguageModel& model) {
  return model.laurel_rank == 0
             ? 0
             : 2 * model.hidden * model.laurel_rank + NormParameters(model.norm, model.hidden);
}

int64_t AttentionParameters(const LanguageModel& model, const LanguageLayer& layer) {
  if (model.mla) {
    const int64_t gate = model.attention_gate ? model.hidden * model.heads * model.mla->v_dim : 0;
    return LatentAttentionParameters(model, *model.mla) + gate;
  }
  if (model.compressed) return CompressedAttentionParameters(model, layer, *model.compressed);
  const int64_t query_width = layer.heads * layer.head_dim;
  const int64_t out_width = layer.heads * layer.value_dim;
  int64_t parameters =
      LinearParameters(model.hidden,
                       query_width + (model.attention_gate ? out_width : 0) + KeyValueWidth(layer),
                       model.qkv_bias || model.linear_bias) +
      LinearParameters(out_width, model.hidden, model.out_bias || model.linear_bias);
  const bool keys = layer.key_values != KeyValues::kReused;
  if ((model.qkv_bias || model.linear_bias) && !model.key_bias && keys)
    parameters -= layer.kv_heads * layer.head_dim;
  if (model.qk_norm) parameters += (keys ? 2 : 1) * NormParameters(model.norm, layer.head_dim);
  if (model.width_qk_norm) parameters += query_width + layer.kv_heads * layer.head_dim;
  if (model.attention_sinks || layer.sinks) parameters += layer.heads;
  return parameters + IndexParameters(model, layer) + CrossAttentionParameters(model, layer) +
         LaurelParameters(model);
}

// Decays and steps: per channel of a key and per head for kChannelDelta, whose other projections go
// through low ranks.
int64_t ChannelDeltaParameters(int64_t hidden, const RecurrentSpec& r) {
  const int64_t keys = r.key_heads * r.key_dim, values = r.value_heads * r.value_dim;
  const int64_t mixed = 2 * keys + values;
  const int64_t gate = r.full_gate ? hidden * values : (hidden + values) * r.gate_rank;
  return hidden * (mixed + r.value_heads + r.gate_rank) + r.gate_rank * keys + gate +
         mixed * r.conv_width + keys + r.value_heads + r.value_dim + values * hidden;
}

// Scalars of a value head: decay, step bias and, except for kGatedDelta, the skip's weight.
int64_t RecurrentParameters(int64_t hidden, const RecurrentSpec& r) {
  if (r.scan == ScanKind::kChannelDelta) return ChannelDeltaParameters(hidden, r);
  const int64_t keys = r.key_heads * r.key_dim, values = r.value_heads * r.value_dim;
  const auto linear = [&](int64_t in, int64_t out) {
    return LinearParameters(in, out, r.linear_bias);
  };
  if (r.scan == ScanKind::kSelective) {
    return linear(hidden, 2 * values) + values * (r.conv_width + (r.conv_bias ? 1 : 0)) +
           values * (r.step_rank + 2 * r.key_dim) + LinearParameters(r.step_rank, values, true) +
           values * r.key_dim + values + (r.step_rank + 2 * r.key_dim) + linear(values, hidden);
  }
  if (r.scan == ScanKind::kConvolution)
    return linear(hidden, 3 * values) + values * (r.conv_width + (r.conv_bias ? 1 : 0)) +
           linear(values, hidden);
  const bool delta = r.scan == ScanKind::kGatedDelta;
  const int64_t mixed = 2 * keys + values;
  if (r.scan == ScanKind::kLightning)  // and a gate, a norm, nothing else
    return linear(hidden, mixed + values) + values + linear(values, hidden);
  const int64_t norm = !r.norm ? 0 : delta ? r.value_dim : values;
  return linear(hidden, mixed + values + (delta ? 2 : 1) * r.value_heads) +
         mixed * (r.conv_width + (r.conv_bias ? 1 : 0)) + (delta ? 2 : 3) * r.value_heads + norm +
         linear(values, hidden);
}

int64_t MixerParameters(const LanguageModel& model, const LanguageLayer& layer) {
  switch (layer.mixer) {
    case Mixer::kAttention:
      return AttentionParameters(model, layer);
    case Mixer::kRecurrent:
      return RecurrentParameters(model.hidden, *model.recurrent);
    case Mixer::kBoth:
      return AttentionParameters(model, layer) +
             RecurrentParameters(model.hidden, *model.recurrent);
    case Mixer::kNone:
      break;
  }
  return CrossAttentionParameters(model, layer);
}

// Returns the parameters of one mixture, with `experts` of its routed experts. The whole router
// counts, because every token is scored against every expert.
int64_t MixtureParameters(const LanguageModel& model, const MoeSpec& moe, int64_t experts) {
  const bool bias = model.linear_bias || moe.mlp_bias;
  const auto mlp = [&](int64_t width, int64_t ffn) {
    return MlpParameters(width, ffn, model.gated_mlp, bias);
  };
  const int64_t latent = moe.latent == 0 ? 0
                                         : LinearParameters(model.hidden, moe.latent, bias) +
                                               LinearParameters(moe.latent, model.hidden, bias) +
                                               (moe.latent_norm ? moe.latent : 0);
  const int64_t router = LinearParameters(model.hidden, moe.experts, moe.expert_bias);
  const int64_t of_images =
      moe.image_ffn == 0 ? 0 : router + experts * mlp(model.hidden, moe.image_ffn);
  return router + latent + of_images +
         experts * mlp(moe.latent == 0 ? model.hidden : moe.latent, moe.expert_ffn) +
         (moe.shared_ffn > 0 ? mlp(model.hidden, moe.shared_ffn) : 0) +
         (moe.shared_gate ? model.hidden : 0) +
         (moe.router_scales ? model.hidden + moe.experts : 0);
}

int64_t LayerNormParameters(const LanguageModel& model) {
  return model.norm_weights ? NormParameters(model.norm, model.hidden) : 0;
}

// Weights of the hyper-connections before a layer's mixer and before its MLP: of each stream for
// what the block reads, for what it writes, and for every other stream. Of alternating updates: a
// router with its norm, what it predicts and what it corrects, and a scale of the output. Of
// earlier blocks: for mixer and MLP a norm and a vector that scores.
int64_t StreamParameters(const LanguageModel& model) {
  const int64_t n = model.streams;
  if (n == 1) return 0;
  if (model.stream_kind == StreamKind::kAltUp)
    return n * (n * n + n + model.hidden) + NormParameters(model.norm, model.hidden) + model.hidden;
  if (model.stream_kind == StreamKind::kBlocks)
    return 2 * (NormParameters(model.norm, model.hidden) + model.hidden);
  return 2 * ((2 + n) * n * (n * model.hidden + 1) + 3);
}

int64_t LayerParameters(const LanguageModel& model, const LanguageLayer& layer, bool active_only) {
  int64_t mixer =
      MixerParameters(model, layer) + NormsOf(model, layer) * LayerNormParameters(model);
  mixer += StreamParameters(model);
  if (model.per_layer) mixer += 2 * model.hidden * model.per_layer->width;
  if (!layer.mlp) return mixer;
  if (!layer.experts)
    return mixer + model.mlp_scalars +
           MlpParameters(model.hidden, layer.ffn, model.gated_mlp,
                         model.linear_bias || model.mlp_bias);
  const MoeSpec& moe = *model.moe;
  return mixer + MixtureParameters(model, moe, active_only ? moe.top_k : moe.experts);
}

// Returns the parameters that feed all layers, without the table that the head may share, and those
// that join the streams before the head.
int64_t AroundParameters(const LanguageModel& model) {
  int64_t parameters = 0;
  if (model.per_layer) {
    const PerLayerSpec& of = *model.per_layer;
    parameters +=
        (of.vocab + model.hidden) * model.layers * of.width + NormParameters(model.norm, of.width);
  }
  if (model.embedding_norm) parameters += NormParameters(model.norm, model.hidden);
  parameters += model.more_rows * model.hidden;
  if (model.streams == 1) return parameters;
  const int64_t n = model.streams;
  // Into the other streams, and out of them.
  if (model.stream_kind == StreamKind::kAltUp)
    return parameters + 2 * (n - 1) * model.hidden * model.hidden;
  if (model.stream_kind == StreamKind::kBlocks)
    return parameters + NormParameters(model.norm, model.hidden) + model.hidden;
  return parameters + n * (n * model.hidden + 1) + 1;
}

int64_t LanguageModelParameters(const LanguageModel& model, bool active_only) {
  const int64_t norm = LayerNormParameters(model);
  const int64_t tables = model.vocab * (model.tied_embeddings ? 1 : 2) + model.learned_positions;
  int64_t parameters =
      norm + tables * model.hidden + (model.head_bias ? model.vocab : 0) + AroundParameters(model);
  const std::vector<LayerRun> runs = RunsOf(model);
  for (const LayerRun& run : runs)
    parameters += run.count * LayerParameters(model, run.layer, active_only);
  // A layer that predicts a further token is like the last one. It has a projection from 2 x
  // hidden, its two norms and a final one.
  if (model.predicted_tokens > 0)
    parameters += model.predicted_tokens * (2 * model.hidden * model.hidden + 3 * norm +
                                            LayerParameters(model, runs.back().layer, active_only));
  return parameters;
}

// Returns the parameters that a conformer's layer has in addition to a transformer's layer and its
// norms.
int64_t ConformerParameters(const Encoder& e) {
  const ConformerSpec& c = e.conformer;
  if (c.conv_width == 0) return 0;
  return MlpParameters(e.hidden, e.ffn, e.gated_mlp, e.linear_bias) +
         LinearParameters(e.hidden, 2 * e.hidden, e.linear_bias) +
         c.pointwise * LinearParameters(e.hidden, e.hidden, e.linear_bias) +
         LinearParameters(c.conv_width, e.hidden, c.conv_bias) + c.other_parameters;
}

int64_t StepParameters(const ProjectorStep& step) {
  const int64_t norm = step.norm_width > 0 ? NormParameters(step.norm, step.norm_width) : 0;
  return norm + (step.gated ? 2 : 1) * LinearParameters(step.in, step.out, step.bias);
}

// Three norms, queries of the latents, keys and values of all, and an MLP in each layer; then a
// norm.
int64_t ResamplerParameters(const ResamplerSpec& r) {
  if (r.layers == 0) return 0;
  const int64_t attention = 2 * r.width * (r.heads + r.kv_heads) * r.head_dim;
  return r.layers * (attention + MlpParameters(r.width, r.ffn, /*gated=*/true, /*bias=*/false) +
                     3 * r.width) +
         (r.latents + 1) * r.width;
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
      encoder.layer_norms * NormParameters(encoder.norm, encoder.hidden);
  if (encoder.head_norm) layer += 2 * encoder.head_dim;
  if (encoder.qkv_bias && !encoder.key_bias) layer -= width;
  if (encoder.qk_norm) layer += 2 * NormParameters(encoder.norm, width);
  if (encoder.layer_scale) layer += 2 * encoder.hidden;
  layer += ConformerParameters(encoder);

  if (encoder.modality == Modality::kAudio) {
    int64_t parameters = encoder.layers * layer + encoder.other_parameters;
    for (const FrontLayer& front : FrontLayersOf(encoder.front, encoder.hidden))
      parameters +=
          LinearParameters(front.in, front.out, front.bias) + (front.norm ? front.out : 0);
    return parameters;
  }
  const int64_t patch_values =
      kColours * encoder.patch_pixels * encoder.patch_pixels * encoder.temporal_patch;
  const int64_t rows =
      encoder.class_tokens + (encoder.learned_positions ? encoder.tokens_per_unit : 0);
  return encoder.layers * layer +
         LinearParameters(patch_values, encoder.hidden, encoder.patch_bias) +
         rows * encoder.hidden + encoder.other_parameters;
}

int64_t CountParameters(const Projector& projector, int64_t llm_hidden) {
  int64_t stepped = 0;
  for (const ProjectorStep& step : projector.steps) stepped += StepParameters(step);
  if (!projector.steps.empty()) return stepped + ResamplerParameters(projector.resampler);
  const int64_t norm_width =
      projector.norm_width > 0 ? projector.norm_width : projector.input_width;
  const auto linear = [&](int64_t in, int64_t out) {
    return LinearParameters(in, out, projector.bias);
  };
  const int64_t width =
      projector.merging_width > 0 ? projector.merging_width : projector.input_width;
  const int64_t linears =
      projector.hidden_width == 0
          ? linear(width, llm_hidden)
          : linear(width, projector.hidden_width) + linear(projector.hidden_width, llm_hidden);
  return linears + projector.merging_width * projector.input_width +
         (projector.norm ? NormParameters(projector.norm_kind, norm_width) : 0) +
         projector.deep_stacked *
             (linears + NormParameters(projector.norm_kind, projector.input_width));
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
