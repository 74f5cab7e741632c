// Code that the components of a model share: fields that override a catalogue entry, and train
// settings.
#ifndef EVENKEEL_SERVER_CONVERT_MODEL_COMPONENT_FIELDS_H_
#define EVENKEEL_SERVER_CONVERT_MODEL_COMPONENT_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "evenkeel/v1/job.pb.h"
#include "planner/model/model_spec.h"
#include "server/convert/checks.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// Takes the fields of one component that the request sets; the others keep their present values.
class ComponentFields {
 public:
  // `has_entry` is true if a catalogue entry was filled in before, so that no field is required.
  ComponentFields(ViolationSink& sink, const FieldPath& path, bool has_entry)
      : sink_(sink), path_(path), has_entry_(has_entry) {}

  void Required(std::string_view name, bool has, int64_t value, IntRange range, int64_t* slot);
  void Optional(std::string_view name, bool has, int64_t value, IntRange range, int64_t* slot);
  void Flag(bool has, bool value, bool* slot);
  void TakeNorm(v1::Norm value, planner::Norm* slot);
  // If no value is given, a head is hidden / heads wide, unless an unchanged catalogue entry has
  // another width.
  void HeadSize(bool has, int64_t value, int64_t hidden, int64_t heads, int64_t* slot);
  void MarkChanged() { changed_ = true; }

  // Returns true if a field differs from the catalogue entry.
  bool changed() const { return changed_; }
  // Returns "given in the request", or `source` if nothing differs from it.
  std::string Source(const std::string& source) const;

 private:
  ViolationSink& sink_;
  const FieldPath& path_;
  bool has_entry_;
  bool changed_ = false;
};

// Adds a violation for a number that the contract does not know.
void CheckTrainMode(v1::TrainMode mode, const FieldPath& field, ViolationSink& sink);
// Returns the mode, or `inherited` if it is unset.
planner::TrainMode TrainModeOr(v1::TrainMode mode, planner::TrainMode inherited);

// Converts adapters, with defaults for unset fields.
planner::LoraSpec LoraFromProto(const v1::Lora& from, const FieldPath& path, ViolationSink& sink);

// How a component trains, with its adapters if it has any.
struct TrainSetting {
  planner::TrainMode mode = planner::TrainMode::kFull;
  planner::LoraSpec lora;
};

// Returns the setting of a component with this train mode and, if `lora` is set, these adapters.
TrainSetting TrainSettingOf(v1::TrainMode mode, const v1::Lora* lora, const FieldPath& path,
                            const TrainSetting& inherited, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MODEL_COMPONENT_FIELDS_H_
