// Reads a language model and its encoders from their config.json, as Hugging Face publishes it.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_MODEL_CONFIG_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/model/model_spec.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

inline constexpr int64_t kMaxConfigBytes = 64 * 1024;

struct ConfiguredModel {
  planner::LanguageModel spec;                // without name and training
  std::vector<planner::EncoderTower> towers;  // without training; vision comes before audio
  std::string model_type;                     // such as "qwen3_moe"
  std::string source;                         // for the plan's provenance
  // Layers for multi-token prediction that the config mentions, if they are like the last layer;
  // else 0. `spec` has none of them.
  int64_t predicted_layers = 0;
};

// Returns nullopt after violations at `field`, which name the key and what would be accepted. An
// architecture that is not known is refused with the nearest known ones; so is a key that is not
// known and may change the model's shape.
std::optional<ConfiguredModel> ModelFromConfig(std::string_view json, const FieldPath& field,
                                               ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_MODEL_CONFIG_H_
