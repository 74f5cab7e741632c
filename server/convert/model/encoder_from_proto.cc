#include "server/convert/model/encoder_from_proto.h"

#include <cstdint>
#include <string>
#include <utility>

#include "evenkeel/v1/job.pb.h"
#include "planner/catalog/catalog.h"
#include "planner/model/model_spec.h"
#include "server/convert/checks.h"
#include "server/convert/model/component_fields.h"
#include "server/convert/model/model_name.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kTokensPerUnit = {1, 65536};

// Converts the modality: audio comes as spectra, not as patches.
void ConvertModality(const v1::Encoder& from, const FieldPath& path, ViolationSink& sink,
                     ComponentFields& fields, planner::Encoder* spec) {
  if (!CheckEnum(sink, path.Child("modality"), from.modality(), v1::Modality_IsValid,
                 "MODALITY_IMAGE, MODALITY_VIDEO, MODALITY_AUDIO") ||
      from.modality() == v1::MODALITY_UNSPECIFIED) {
    return;
  }
  const planner::Modality modality =
      from.modality() == v1::MODALITY_IMAGE   ? planner::Modality::kImage
      : from.modality() == v1::MODALITY_VIDEO ? planner::Modality::kVideo
                                              : planner::Modality::kAudio;
  if (spec->modality != modality) fields.MarkChanged();
  spec->modality = modality;
}

void ConvertNativeResolution(const v1::NativeResolution& from, const FieldPath& path,
                             ViolationSink& sink, ComponentFields& fields, planner::Encoder* spec) {
  planner::Encoder native = *spec;
  native.native_resolution = true;
  native.class_tokens = 0;
  native.learned_positions = false;
  native.llm_tokens_per_unit = 1;
  native.tokens_per_unit = CheckIntOr(sink, path.Child("patches_per_llm_token"),
                                      from.patches_per_llm_token(), {1, 64}, 4);
  const int64_t side =
      CheckIntOr(sink, path.Child("window_patches"), from.window_patches(), {1, 1024}, 0);
  native.window_tokens = side * side;
  native.full_layers.clear();
  const bool layers_valid = spec->layers >= 1 && spec->layers <= 128;
  for (int i = 0; i < from.full_attention_layers_size(); ++i) {
    native.full_layers.push_back(CheckInt(sink, path.Child("full_attention_layers", i),
                                          from.full_attention_layers(i),
                                          {0, layers_valid ? spec->layers - 1 : 127}));
  }
  if (!native.full_layers.empty() && side == 0)
    sink.Add(path.Child("full_attention_layers"),
             "must be empty unless window_patches is set: all layers attend to the whole image");
  if (!spec->native_resolution || native.tokens_per_unit != spec->tokens_per_unit ||
      native.window_tokens != spec->window_tokens || native.full_layers != spec->full_layers)
    fields.MarkChanged();
  *spec = std::move(native);
}

void ConvertTokens(const v1::Encoder& from, const FieldPath& path, ViolationSink& sink,
                   ComponentFields& fields, planner::Encoder* spec) {
  const int64_t before = sink.count();
  if (from.has_native_resolution())
    ConvertNativeResolution(from.native_resolution(), path.Child("native_resolution"), sink, fields,
                            spec);
  if (spec->native_resolution) {
    for (const auto& [name, has] :
         {std::pair("tokens_per_unit", from.has_tokens_per_unit()),
          std::pair("llm_tokens_per_unit", from.has_llm_tokens_per_unit())}) {
      if (has)
        sink.Add(path.Child(name),
                 "must be unset at native resolution: a unit is one token of the "
                 "language model; see native_resolution.patches_per_llm_token");
    }
    return;
  }
  fields.Required("tokens_per_unit", from.has_tokens_per_unit(), from.tokens_per_unit(),
                  kTokensPerUnit, &spec->tokens_per_unit);
  fields.Required("llm_tokens_per_unit", from.has_llm_tokens_per_unit(), from.llm_tokens_per_unit(),
                  kTokensPerUnit, &spec->llm_tokens_per_unit);
  if (sink.count() == before && spec->tokens_per_unit > 0 &&
      spec->llm_tokens_per_unit > spec->tokens_per_unit) {
    sink.Add(path.Child("llm_tokens_per_unit"),
             "must be at most tokens_per_unit (" + std::to_string(spec->tokens_per_unit) +
                 "), because projectors only merge tokens, but is " +
                 std::to_string(spec->llm_tokens_per_unit));
  }
}

void ConvertShape(const v1::Encoder& from, const FieldPath& path, bool has_entry,
                  ViolationSink& sink, ComponentFields& fields, planner::Encoder* spec) {
  fields.Required("layers", from.has_layers(), from.layers(), {1, 128}, &spec->layers);
  ComponentFields widths(sink, path, has_entry);
  widths.Required("hidden_size", from.has_hidden_size(), from.hidden_size(), {64, 65536},
                  &spec->hidden);
  widths.Required("attention_heads", from.has_attention_heads(), from.attention_heads(), {1, 1024},
                  &spec->heads);
  widths.HeadSize(from.has_head_size(), from.head_size(), spec->hidden, spec->heads,
                  &spec->head_dim);
  if (widths.changed()) fields.MarkChanged();
  fields.Required("ffn_size", from.has_ffn_size(), from.ffn_size(), {64, 262144}, &spec->ffn);
  fields.Flag(from.has_gated_mlp(), from.gated_mlp(), &spec->gated_mlp);
  fields.TakeNorm(from.norm(), &spec->norm);
  fields.Flag(from.has_qk_norm(), from.qk_norm(), &spec->qk_norm);
  fields.Flag(from.has_layer_scale(), from.layer_scale(), &spec->layer_scale);
  ConvertTokens(from, path, sink, fields, spec);
}

void CheckRest(const v1::Encoder& from, const FieldPath& path, ViolationSink& sink) {
  const FieldPath projector = path.Child("projector");
  if (from.projector().has_hidden_size()) {
    CheckInt(sink, projector.Child("hidden_size"), from.projector().hidden_size(), {1, 262144});
  }
  CheckTrainMode(from.projector().train_mode(), projector.Child("train_mode"), sink);
}

}  // namespace

DescribedEncoder EncoderFromProto(const v1::Encoder& from, const FieldPath& path,
                                  const TrainSetting& inherited, ViolationSink& sink) {
  DescribedEncoder described;
  planner::Encoder& spec = described.spec;
  spec.norm = planner::Norm::kRmsNorm;
  std::string source;
  const bool has_entry = !from.catalog_name().empty();
  bool entry_refused = false;
  if (has_entry) {
    const auto* entry = EncoderByName(from.catalog_name(), path.Child("catalog_name"), sink);
    entry_refused = entry == nullptr;
    if (entry != nullptr) {
      spec = entry->spec;
      source = entry->source;
    }
  }
  ComponentFields fields(sink, path, has_entry);
  ConvertModality(from, path, sink, fields, &spec);
  ConvertShape(from, path, has_entry, sink, fields, &spec);
  const TrainSetting training = TrainSettingOf(
      from.train_mode(), from.has_lora() ? &from.lora() : nullptr, path, inherited, sink);
  spec.train = training.mode;
  spec.lora = training.lora;
  spec.lora.train_embedding = spec.lora.train_head = false;
  const FieldPath lora = path.Child("lora");
  for (const auto& [field, set] : {std::pair{"train_embedding", from.lora().train_embedding()},
                                   std::pair{"train_head", from.lora().train_head()}})
    if (set)
      sink.Add(lora.Child(field),
               "must be false: the language model has the token embedding and "
               "the head; set it in its lora");
  CheckRest(from, path, sink);

  described.published = has_entry && !entry_refused && !fields.changed();
  described.source = fields.Source(source);
  if (!has_entry) {
    spec.name = "custom-encoder";
  } else if (fields.changed()) {
    spec.name += "-changed";
  }
  return described;
}

planner::Projector ProjectorOf(const v1::Encoder& from, const planner::Encoder& encoder,
                               int64_t llm_hidden, const planner::LoraSpec& lora,
                               bool* is_default) {
  planner::Projector projector = planner::DefaultProjector(encoder, llm_hidden);
  const int64_t assumed = projector.hidden_width;
  if (from.projector().has_hidden_size()) projector.hidden_width = from.projector().hidden_size();
  *is_default = projector.hidden_width == assumed;
  projector.train = TrainModeOr(from.projector().train_mode(), planner::TrainMode::kFull);
  if (projector.train == planner::TrainMode::kLora) projector.lora = lora;
  return projector;
}

}  // namespace evenkeel::server
