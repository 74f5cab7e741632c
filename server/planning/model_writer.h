// Writes a model field by field: the part of a job's fingerprint that describes what trains.
#ifndef EVENKEEL_SERVER_PLANNING_MODEL_WRITER_H_
#define EVENKEEL_SERVER_PLANNING_MODEL_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "planner/model/model_spec.h"
#include "server/planning/canonical_writer.h"

namespace evenkeel::server {

// Each struct is unpacked by name, so that a new field does not compile until it is written here.
// Tags count the fields of a struct from 1. `Writer` derives from this, and has a Put for every
// other type.
template <typename Writer>
class ModelWriter {
 public:
  static constexpr int kMoeTag = 66;
  static constexpr int kLanguageModelTag = 67;
  static constexpr int kEncoderTag = 68;
  static constexpr int kProjectorTag = 69;
  static constexpr int kIndexTag = 70;
  static constexpr int kAudioTag = 77;
  static constexpr int kRouterScalesTag = 78;
  static constexpr int kRecurrentTag = 79;
  static constexpr int kLayerTag = 80;
  static constexpr int kMoreOfModelTag = 81;
  static constexpr int kEncoderNormsTag = 82;
  static constexpr int kFrozenFormatTag = 95;
  static constexpr int kCrossTag = 110;
  static constexpr int kConformerTag = 111;
  static constexpr int kFrontTag = 112;
  static constexpr int kStepsTag = 113;
  static constexpr int kFullGateTag = 114;
  static constexpr int kExpertsTag = 115;
  static constexpr int kSavedTablesTag = 116;
  static constexpr int kAroundTag = 117;
  static constexpr int kCrossNormTag = 118;
  static constexpr int kAdapterDropoutTag = 190;

  explicit ModelWriter(CanonicalWriter& out) : out_(out) {}

  void Put(int tag, bool value) { out_.Flag(tag, value); }
  void Put(int tag, int64_t value) { out_.Integer(tag, value); }
  void Put(int tag, uint64_t value) { out_.Integer(tag, value); }
  void Put(int tag, double value) { out_.Real(tag, value); }
  void Put(int tag, const std::string& value) { out_.Text(tag, value); }

  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Put(int tag, Enum value) { out_.Choice(tag, value); }

  template <typename Value>
  void Put(int tag, const std::optional<Value>& value) {
    out_.Count(tag, value ? 1 : 0);
    if (value) self().Put(1, *value);
  }

  template <typename Value>
  void Put(int tag, const std::vector<Value>& values) {
    out_.Count(tag, values.size());
    for (const Value& value : values) self().Put(1, value);
  }

  void Put(int /*tag*/, const planner::MoeSpec& moe) {
    const auto& [experts, top_k, expert_ffn, shared_ffn, first_dense_layers, expert_bias, mlp_bias,
                 shared_gate, latent, router_scales, latent_norm, image_ffn] = moe;
    Fields(experts, top_k, expert_ffn, shared_ffn, first_dense_layers, expert_bias);
    if (mlp_bias || shared_gate || latent != 0) {
      out_.Count(kMoeTag, 1);
      Fields(mlp_bias, shared_gate);
      if (latent != 0) Fields(latent);
    }
    if (router_scales) out_.Count(kRouterScalesTag, 1);
    if (latent_norm || image_ffn != 0) {
      out_.Count(kExpertsTag, 1);
      Fields(latent_norm, image_ffn);
    }
  }

  void Put(int /*tag*/, const planner::MlaSpec& mla) {
    const auto& [q_lora_rank, kv_lora_rank, qk_nope_dim, qk_rope_dim, v_dim, index_heads,
                 index_dim] = mla;
    Fields(q_lora_rank, kv_lora_rank, qk_nope_dim, qk_rope_dim, v_dim);
    if (index_heads == 0) return;
    out_.Count(kIndexTag, 1);
    Fields(index_heads, index_dim);
  }

  void Put(int /*tag*/, const planner::LoraSpec& lora) {
    const auto& [rank, base, targets, train_embedding, train_head, dropout] = lora;
    Fields(rank, static_cast<int64_t>(targets));
    if (dropout) out_.Count(kAdapterDropoutTag, 1);
    if (train_embedding || train_head) {
      out_.Count(kSavedTablesTag, 1);
      Fields(train_embedding, train_head);
    }
    if (base == planner::FrozenFormat::k16Bit) return;
    out_.Count(kFrozenFormatTag, 1);
    Fields(base);
  }

  void Put(int /*tag*/, const planner::LanguageModel& model) {
    const auto& [name, layers, hidden, heads, kv_heads, head_dim, ffn, gated_mlp, norm, vocab,
                 tied_embeddings, qkv_bias, linear_bias, qk_norm, learned_positions, moe, mla,
                 predicted_tokens, train, lora, runs, layer_norms, norm_weights, out_bias, mlp_bias,
                 width_qk_norm, attention_sinks, head_bias, attention_gate, recurrent, index,
                 compressed, per_layer, streams, stream_kind, laurel_rank, key_bias, cross,
                 mlp_scalars, embedding_norm, more_rows] = model;
    Fields(name, layers, hidden, heads, kv_heads, head_dim, ffn, gated_mlp, norm, vocab,
           tied_embeddings, qkv_bias, linear_bias, qk_norm, learned_positions, moe, mla,
           predicted_tokens, train, lora);
    if (index || compressed || per_layer || streams != 1) {
      out_.Count(kMoreOfModelTag, 1);
      Fields(index, compressed, per_layer, streams);
    }
    if (stream_kind != planner::StreamKind::kHyper || laurel_rank != 0 || !key_bias || cross) {
      out_.Count(kCrossTag, 1);
      Fields(stream_kind, laurel_rank, key_bias, cross);
    }
    if (mlp_scalars != 0 || embedding_norm || more_rows != 0) {
      out_.Count(kAroundTag, 1);
      Fields(mlp_scalars, embedding_norm, more_rows);
    }
    const bool plain = runs.empty() && layer_norms == 2 && norm_weights && !out_bias && !mlp_bias &&
                       !width_qk_norm && !attention_sinks && !head_bias && !attention_gate &&
                       !recurrent;
    if (plain) return;
    out_.Count(kLanguageModelTag, 1);
    Fields(runs, layer_norms, norm_weights, out_bias, mlp_bias, width_qk_norm, attention_sinks,
           head_bias);
    if (attention_gate || recurrent) Fields(attention_gate, recurrent);
  }

  void Put(int /*tag*/, const planner::RecurrentSpec& recurrent) {
    const auto& [scan, key_heads, key_dim, value_heads, value_dim, conv_width, conv_bias,
                 linear_bias, step_rank, gate_rank, norm, full_gate] = recurrent;
    Fields(scan, key_heads, key_dim, value_heads, value_dim, conv_width, conv_bias, linear_bias,
           step_rank);
    if (full_gate) out_.Count(kFullGateTag, 1);
    if (gate_rank == 0 && norm) return;
    out_.Count(kRecurrentTag, 1);
    Fields(gate_rank, norm);
  }

  void Put(int /*tag*/, const planner::IndexSpec& index) {
    const auto& [heads, head_dim] = index;
    Fields(heads, head_dim);
  }

  void Put(int /*tag*/, const planner::CrossSpec& cross) {
    const auto& [width, tokens_per_unit, head_norm, other_parameters] = cross;
    Fields(width, tokens_per_unit);
    if (!head_norm && other_parameters == 0) return;
    out_.Count(kCrossNormTag, 1);
    Fields(head_norm, other_parameters);
  }

  void Put(int /*tag*/, const planner::ConformerSpec& conformer) {
    const auto& [conv_width, pointwise, other_parameters, conv_bias] = conformer;
    Fields(conv_width, pointwise, other_parameters, conv_bias);
  }

  void Put(int /*tag*/, const planner::ProjectorStep& step) {
    const auto& [rows, in, out, bias, gated, split, norm_width, norm] = step;
    Fields(rows, in, out, bias, gated, split, norm_width, norm);
  }

  void Put(int /*tag*/, const planner::ResamplerSpec& resampler) {
    const auto& [layers, latents, context, width, ffn, heads, kv_heads, head_dim] = resampler;
    Fields(layers, latents, context, width, ffn, heads, kv_heads, head_dim);
  }

  void Put(int /*tag*/, const planner::CompressedSpec& compressed) {
    const auto& [q_rank, out_groups, out_rank, index_heads, index_dim] = compressed;
    Fields(q_rank, out_groups, out_rank, index_heads, index_dim);
  }

  void Put(int /*tag*/, const planner::PerLayerSpec& per_layer) {
    const auto& [vocab, width] = per_layer;
    Fields(vocab, width);
  }

  void Put(int /*tag*/, const planner::LayerRun& run) {
    const auto& [layer, count] = run;
    const auto& [mixer, attention, window_tokens, heads, kv_heads, head_dim, experts, ffn, mlp,
                 value_dim, key_values, sinks, entry_tokens, entries, cross] = layer;
    Fields(attention, window_tokens, heads, kv_heads, head_dim, experts, ffn, count);
    if (mixer != planner::Mixer::kAttention || !mlp) Fields(mixer, mlp);
    if (cross) out_.Count(kCrossTag, 1);
    if (value_dim == 0 && key_values == planner::KeyValues::kProjected && !sinks &&
        entry_tokens == 0)
      return;
    out_.Count(kLayerTag, 1);
    Fields(value_dim, key_values, sinks, entry_tokens, entries);
  }

  void Put(int /*tag*/, const planner::Encoder& encoder) {
    const auto& [name, modality, layers, hidden, heads, head_dim, ffn, gated_mlp, norm, qkv_bias,
                 linear_bias, qk_norm, layer_scale, patch_pixels, temporal_patch, patch_bias,
                 class_tokens, learned_positions, tokens_per_unit, llm_tokens_per_unit,
                 native_resolution, train, lora, window_tokens, full_layers, other_parameters,
                 key_bias, front, head_norm, norms, conformer, image_is_unit] = encoder;
    (void)image_is_unit;  // it settles the default data, which are written
    Fields(name, modality, layers, hidden, heads, head_dim, ffn, gated_mlp, norm, qkv_bias,
           linear_bias, qk_norm, layer_scale, patch_pixels, temporal_patch, patch_bias,
           class_tokens, learned_positions, tokens_per_unit, llm_tokens_per_unit, native_resolution,
           train, lora);
    if (window_tokens != 0 || other_parameters != 0) {
      out_.Count(kEncoderTag, 1);
      Fields(window_tokens, full_layers, other_parameters);
    }
    if (head_norm || norms != 2) {
      out_.Count(kEncoderNormsTag, 1);
      Fields(head_norm, norms);
    }
    if (conformer.conv_width > 0) {
      out_.Count(kConformerTag, 1);
      Fields(conformer);
    }
    const auto& [mel_bins, channels, second_channels, separable] = front;
    if (key_bias && front == planner::AudioFront{}) return;
    out_.Count(kAudioTag, 1);
    Fields(key_bias, mel_bins, channels);
    if (second_channels == 0 && !separable) return;
    out_.Count(kFrontTag, 1);
    Fields(second_channels, separable);
  }

  void Put(int /*tag*/, const planner::Projector& projector) {
    const auto& [input_width, hidden_width, norm, train, lora, norm_kind, norm_width, merging_width,
                 bias, deep_stacked, steps, resampler] = projector;
    Fields(input_width, hidden_width, norm, train, lora);
    if (!steps.empty()) {
      out_.Count(kStepsTag, 1);
      Fields(steps, resampler);
    }
    if (norm_kind == planner::Norm::kLayerNorm && norm_width == 0 && merging_width == 0 && bias &&
        deep_stacked == 0)
      return;
    out_.Count(kProjectorTag, 1);
    Fields(norm_kind, norm_width, merging_width, bias, deep_stacked);
  }

  void Put(int /*tag*/, const planner::EncoderTower& tower) {
    const auto& [encoder, projector] = tower;
    Fields(encoder, projector);
  }

  void Put(int /*tag*/, const planner::ModelSpec& model) {
    const auto& [name, towers, language_model] = model;
    Fields(name, towers, language_model);
  }

 protected:
  template <typename... Values>
  void Fields(const Values&... values) {
    int tag = 0;
    (self().Put(++tag, values), ...);
  }

  CanonicalWriter& out_;

 private:
  Writer& self() { return static_cast<Writer&>(*this); }
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_MODEL_WRITER_H_
