// An encoder that the request describes, as changes to a catalogue entry or in full.
#ifndef EVENKEEL_SERVER_CONVERT_MODEL_ENCODER_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_MODEL_ENCODER_FROM_PROTO_H_

#include <cstdint>
#include <string>

#include "planner/model/model_spec.h"
#include "server/convert/model/component_fields.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Encoder;
}

namespace evenkeel::server {

// `spec` is filled in as far as the description goes; it trains as `inherited` unless it has a mode
// of its own. `published` is true if every dimension is the catalogue's.
struct DescribedEncoder {
  planner::Encoder spec;
  bool published = false;
  std::string source;
};
DescribedEncoder EncoderFromProto(const v1::Encoder& from, const FieldPath& path,
                                  const TrainSetting& inherited, ViolationSink& sink);

// Returns the projector from a valid description into a language model of width `llm_hidden`, with
// `lora` as its adapters. Sets `*is_default` if it has the dimensions that would be assumed.
planner::Projector ProjectorOf(const v1::Encoder& from, const planner::Encoder& encoder,
                               int64_t llm_hidden, const planner::LoraSpec& lora, bool* is_default);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MODEL_ENCODER_FROM_PROTO_H_
