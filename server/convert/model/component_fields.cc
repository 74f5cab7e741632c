#include "server/convert/model/component_fields.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "evenkeel/v1/job.pb.h"
#include "planner/model/model_spec.h"
#include "server/convert/choices.h"

namespace evenkeel::server {

void ComponentFields::Required(std::string_view name, bool has, int64_t value, IntRange range,
                               int64_t* slot) {
  if (!has && !has_entry_) {
    sink_.Add(path_.Child(name), "required without catalog_name: " + std::to_string(range.min) +
                                     " to " + std::to_string(range.max));
    return;
  }
  Optional(name, has, value, range, slot);
}

void ComponentFields::Optional(std::string_view name, bool has, int64_t value, IntRange range,
                               int64_t* slot) {
  if (!has) return;
  CheckInt(sink_, path_.Child(name), value, range);
  changed_ = changed_ || *slot != value;
  *slot = value;
}

void ComponentFields::Flag(bool has, bool value, bool* slot) {
  if (!has) return;
  changed_ = changed_ || *slot != value;
  *slot = value;
}

void ComponentFields::TakeNorm(v1::Norm value, planner::Norm* slot) {
  if (!CheckEnum(sink_, path_.Child("norm"), value, v1::Norm_IsValid, "NORM_LAYER, NORM_RMS") ||
      value == v1::NORM_UNSPECIFIED) {
    return;
  }
  const planner::Norm norm =
      value == v1::NORM_LAYER ? planner::Norm::kLayerNorm : planner::Norm::kRmsNorm;
  changed_ = changed_ || *slot != norm;
  *slot = norm;
}

void ComponentFields::HeadSize(bool has, int64_t value, int64_t hidden, int64_t heads,
                               int64_t* slot) {
  constexpr IntRange kHeadSizes = {8, 512};
  if (has) {
    Optional("head_size", has, value, kHeadSizes, slot);
    return;
  }
  if (has_entry_ && !changed_) return;
  if (hidden <= 0 || heads <= 0) return;  // these are reported at their own fields
  if (hidden % heads != 0 || hidden / heads < kHeadSizes.min || hidden / heads > kHeadSizes.max) {
    sink_.Add(path_.Child("head_size"),
              "required, 8 to 512: hidden_size / attention_heads = " + std::to_string(hidden) +
                  " / " + std::to_string(heads) + " is not a whole number in that range");
    return;
  }
  *slot = hidden / heads;
}

std::string ComponentFields::Source(const std::string& source) const {
  if (!has_entry_) return "given in the request";
  return changed_ ? "given in the request, the rest from " + source : source;
}

void CheckTrainMode(v1::TrainMode mode, const FieldPath& field, ViolationSink& sink) {
  CheckEnum(sink, field, mode, v1::TrainMode_IsValid,
            "TRAIN_MODE_FULL, TRAIN_MODE_FROZEN, TRAIN_MODE_LORA");
}

planner::TrainMode TrainModeOr(v1::TrainMode mode, planner::TrainMode inherited) {
  switch (mode) {
    case v1::TRAIN_MODE_FULL:
      return planner::TrainMode::kFull;
    case v1::TRAIN_MODE_FROZEN:
      return planner::TrainMode::kFrozen;
    case v1::TRAIN_MODE_LORA:
      return planner::TrainMode::kLora;
    default:
      return inherited;
  }
}

planner::LoraSpec LoraFromProto(const v1::Lora& from, const FieldPath& path, ViolationSink& sink) {
  planner::LoraSpec lora;
  lora.rank = CheckIntOr(sink, path.Child("rank"), from.rank(), {1, 4096}, lora.rank);
  lora.base =
      FromProto(kFrozenFormats, from.base_format(), lora.base, path.Child("base_format"), sink);
  lora.train_embedding = from.train_embedding();
  lora.train_head = from.train_head();
  lora.dropout = CheckReal(sink, path.Child("dropout_ratio"), from.dropout_ratio(), {0, .999}) > 0;
  if (from.targets().empty()) return lora;
  lora.targets = 0;
  for (int i = 0; i < from.targets_size(); ++i) {
    const FieldPath field = path.Child("targets", i);
    if (from.targets(i) == v1::LORA_TARGET_UNSPECIFIED)
      sink.Add(field, "must be one of the linear layers; leave targets empty for all of them");
    lora.targets |= FromProto(kLoraTargets, from.targets(i), planner::LoraTarget{}, field, sink);
  }
  return lora;
}

TrainSetting TrainSettingOf(v1::TrainMode mode, const v1::Lora* lora, const FieldPath& path,
                            const TrainSetting& inherited, ViolationSink& sink) {
  CheckTrainMode(mode, path.Child("train_mode"), sink);
  TrainSetting training = {TrainModeOr(mode, inherited.mode), inherited.lora};
  const FieldPath field = path.Child("lora");
  if (lora != nullptr) {
    training.lora = LoraFromProto(*lora, field, sink);
    if (training.mode != planner::TrainMode::kLora)
      sink.Add(field, "must be unset unless the component trains as TRAIN_MODE_LORA");
  }
  if (training.mode != planner::TrainMode::kLora)
    training.lora = {};  // so that equal jobs have
                         // equal ids
  return training;
}

}  // namespace evenkeel::server
