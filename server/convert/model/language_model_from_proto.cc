#include "server/convert/model/language_model_from_proto.h"

#include <cstdint>
#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/catalog/catalog.h"
#include "planner/model/model_spec.h"
#include "server/convert/checks.h"
#include "server/convert/model/component_fields.h"
#include "server/convert/model/model_name.h"

namespace evenkeel::server {
namespace {

void ConvertMixture(const v1::MixtureOfExperts& from, const FieldPath& path, ViolationSink& sink,
                    ComponentFields& fields, planner::LanguageModel* spec) {
  planner::MoeSpec moe;
  moe.experts = CheckRequiredInt(sink, path.Child("experts"), from.experts(), {2, 4096});
  const bool experts_valid = moe.experts >= 2 && moe.experts <= 4096;
  moe.top_k = CheckRequiredInt(sink, path.Child("experts_per_token"), from.experts_per_token(),
                               {1, experts_valid ? moe.experts : 4096});
  moe.expert_ffn =
      CheckRequiredInt(sink, path.Child("expert_ffn_size"), from.expert_ffn_size(), {64, 262144});
  moe.shared_ffn =
      CheckIntOr(sink, path.Child("shared_ffn_size"), from.shared_ffn_size(), {1, 262144}, 0);
  const bool layers_valid = spec->layers >= 1 && spec->layers <= 512;
  moe.first_dense_layers =
      CheckInt(sink, path.Child("first_dense_layers"), from.first_dense_layers(),
               {0, layers_valid ? spec->layers : 512});
  const auto& entry = spec->moe;
  moe.expert_bias = entry && entry->expert_bias;
  if (!entry || entry->experts != moe.experts || entry->top_k != moe.top_k ||
      entry->expert_ffn != moe.expert_ffn || entry->shared_ffn != moe.shared_ffn ||
      entry->first_dense_layers != moe.first_dense_layers) {
    fields.MarkChanged();
  }
  spec->moe = moe;
}

void ConvertLatentAttention(const v1::LatentAttention& from, const FieldPath& path,
                            ViolationSink& sink, ComponentFields& fields,
                            planner::LanguageModel* spec) {
  constexpr IntRange kRanks = {1, 65536};
  constexpr IntRange kHeadSizes = {8, 512};
  const planner::MlaSpec mla = {
      .q_lora_rank = CheckIntOr(sink, path.Child("q_lora_rank"), from.q_lora_rank(), kRanks, 0),
      .kv_lora_rank =
          CheckRequiredInt(sink, path.Child("kv_lora_rank"), from.kv_lora_rank(), kRanks),
      .qk_nope_dim =
          CheckRequiredInt(sink, path.Child("qk_nope_size"), from.qk_nope_size(), kHeadSizes),
      .qk_rope_dim =
          CheckRequiredInt(sink, path.Child("qk_rope_size"), from.qk_rope_size(), kHeadSizes),
      .v_dim = CheckRequiredInt(sink, path.Child("value_size"), from.value_size(), kHeadSizes)};
  const auto& entry = spec->mla;
  if (!entry || entry->q_lora_rank != mla.q_lora_rank || entry->kv_lora_rank != mla.kv_lora_rank ||
      entry->qk_nope_dim != mla.qk_nope_dim || entry->qk_rope_dim != mla.qk_rope_dim ||
      entry->v_dim != mla.v_dim) {
    fields.MarkChanged();
  }
  spec->mla = mla;
}

// Converts the number of key and value heads. If unset, it is the catalogue's if that divides the
// heads, otherwise one for each head.
void ConvertKvHeads(const v1::LanguageModel& from, const FieldPath& path, bool has_entry,
                    ViolationSink& sink, ComponentFields& fields, planner::LanguageModel* spec) {
  if (!from.has_kv_heads() && !has_entry) spec->kv_heads = spec->heads;
  const int64_t before = sink.count();
  fields.Optional("kv_heads", from.has_kv_heads(), from.kv_heads(), {1, 1024}, &spec->kv_heads);
  if (sink.count() != before || spec->heads <= 0 || spec->kv_heads <= 0) return;
  if (spec->heads % spec->kv_heads != 0) {
    sink.Add(path.Child("kv_heads"), "must divide attention_heads (" + std::to_string(spec->heads) +
                                         "), but is " + std::to_string(spec->kv_heads));
  }
}

void ConvertShape(const v1::LanguageModel& from, const FieldPath& path, bool has_entry,
                  ViolationSink& sink, ComponentFields& fields, planner::LanguageModel* spec) {
  fields.Required("layers", from.has_layers(), from.layers(), {1, 512}, &spec->layers);
  const bool was_changed = fields.changed();
  ComponentFields widths(sink, path, has_entry);
  widths.Required("hidden_size", from.has_hidden_size(), from.hidden_size(), {64, 65536},
                  &spec->hidden);
  widths.Required("attention_heads", from.has_attention_heads(), from.attention_heads(), {1, 1024},
                  &spec->heads);
  ConvertKvHeads(from, path, has_entry, sink, fields, spec);
  widths.HeadSize(from.has_head_size(), from.head_size(), spec->hidden, spec->heads,
                  &spec->head_dim);
  if (was_changed || widths.changed()) fields.MarkChanged();
  fields.Required("ffn_size", from.has_ffn_size(), from.ffn_size(), {64, 262144}, &spec->ffn);
  fields.Flag(from.has_gated_mlp(), from.gated_mlp(), &spec->gated_mlp);
  fields.TakeNorm(from.norm(), &spec->norm);
  fields.Flag(from.has_qk_norm(), from.qk_norm(), &spec->qk_norm);
  fields.Required("vocabulary_size", from.has_vocabulary_size(), from.vocabulary_size(),
                  {256, 2097152}, &spec->vocab);
  fields.Flag(from.has_tied_embeddings(), from.tied_embeddings(), &spec->tied_embeddings);
}

}  // namespace

DescribedLanguageModel LanguageModelFromProto(const v1::LanguageModel& from, const FieldPath& path,
                                              const TrainSetting& inherited, ViolationSink& sink) {
  DescribedLanguageModel described;
  planner::LanguageModel& spec = described.spec;
  spec.gated_mlp = true;
  std::string source;
  // An unknown name is reported once; the dimensions that are missing because of it are not
  // reported.
  const bool has_entry = !from.catalog_name().empty();
  if (has_entry) {
    const auto named = LanguageModelByName(from.catalog_name(), path.Child("catalog_name"), sink);
    if (named) {
      spec = *named->spec;
      source = named->source;
    }
  }
  ComponentFields fields(sink, path, has_entry);
  ConvertShape(from, path, has_entry, sink, fields, &spec);
  if (from.has_mixture_of_experts()) {
    ConvertMixture(from.mixture_of_experts(), path.Child("mixture_of_experts"), sink, fields,
                   &spec);
  }
  if (from.has_latent_attention()) {
    ConvertLatentAttention(from.latent_attention(), path.Child("latent_attention"), sink, fields,
                           &spec);
  }
  if (!spec.runs.empty() && fields.changed())
    sink.Add(path.Child("catalog_name"),
             Quoted(from.catalog_name()) +
                 " has layers of several kinds: give no other dimensions with it, or give the "
                 "changed model as config_json");
  const TrainSetting training = TrainSettingOf(
      from.train_mode(), from.has_lora() ? &from.lora() : nullptr, path, inherited, sink);
  spec.train = training.mode;
  spec.lora = training.lora;

  described.published = has_entry && !fields.changed();
  described.source = fields.Source(source);
  if (!has_entry) {
    spec.name = "custom-language-model";
  } else if (fields.changed()) {
    spec.name += "-changed";
  }
  return described;
}

}  // namespace evenkeel::server
