// A language model that the request describes, as changes to a catalogue entry or in full.
#ifndef EVENKEEL_SERVER_CONVERT_MODEL_LANGUAGE_MODEL_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_MODEL_LANGUAGE_MODEL_FROM_PROTO_H_

#include <string>

#include "planner/model/model_spec.h"
#include "server/convert/model/component_fields.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class LanguageModel;
}

namespace evenkeel::server {

// `spec` is filled in as far as the description goes; it trains as `inherited` unless it has a mode
// of its own. `published` is true if every dimension is the catalogue's.
struct DescribedLanguageModel {
  planner::LanguageModel spec;
  bool published = false;
  std::string source;
};
DescribedLanguageModel LanguageModelFromProto(const v1::LanguageModel& from, const FieldPath& path,
                                              const TrainSetting& inherited, ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MODEL_LANGUAGE_MODEL_FROM_PROTO_H_
