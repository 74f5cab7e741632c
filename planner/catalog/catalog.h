// The built-in catalogue: every model with its aliases and the source of its figures. It is
// immutable. The GPU types are in planner/hardware.
#ifndef EVENKEEL_PLANNER_CATALOG_CATALOG_H_
#define EVENKEEL_PLANNER_CATALOG_CATALOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/model/model_spec.h"
#include "planner/model/parameters.h"

namespace evenkeel::planner {

// Part of every plan id. It changes whenever a figure of a model or a GPU type changes.
inline constexpr std::string_view kCatalogVersion = "2026.12.1";

struct LanguageModelEntry {
  LanguageModel spec;                // spec.name is the slug
  std::vector<std::string> aliases;  // other names of the same model, lower case
  int64_t published_parameters = 0;  // 0 if not published
  std::string source;
};

struct EncoderEntry {
  Encoder spec;
  std::vector<std::string> aliases;
  int64_t published_parameters = 0;
  std::string source;
};

// A published pairing of encoder and language model. `spec` is complete.
struct VisionLanguageEntry {
  ModelSpec spec;
  std::vector<std::string> aliases;
  std::string encoder;         // slug
  std::string language_model;  // slug
  std::string source;
};

const std::vector<LanguageModelEntry>& LanguageModels();
const std::vector<EncoderEntry>& Encoders();
const std::vector<VisionLanguageEntry>& VisionLanguageModels();

// Look up an entry by slug or alias; the name is compared in lower case. They return nullptr if it
// is unknown.
const LanguageModelEntry* FindLanguageModel(std::string_view name);
const EncoderEntry* FindEncoder(std::string_view name);
const VisionLanguageEntry* FindVisionLanguageModel(std::string_view name);

// Returns the projector that joins `encoder` to a language model of width `llm_hidden` where no
// projector is published: a 2-layer MLP after merging encoder tokens down to llm_tokens_per_unit
// (pixel shuffle), as InternVL 1.5 and LLaVA 1.5 do; Qwen2-VL's merger at native resolution.
Projector DefaultProjector(const Encoder& encoder, int64_t llm_hidden);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CATALOG_CATALOG_H_
