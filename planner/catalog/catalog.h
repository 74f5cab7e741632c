// The built-in catalogue: every model and GPU type with its aliases and the source of its figures.
// Immutable.
#ifndef EVENKEEL_PLANNER_CATALOG_CATALOG_H_
#define EVENKEEL_PLANNER_CATALOG_CATALOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/catalog/specs.h"

namespace evenkeel::planner {

// Changes whenever a figure in the catalogue does; part of every plan id.
inline constexpr std::string_view kCatalogVersion = "2026.11.2";

struct LanguageModelEntry {
  LanguageModel spec;                // spec.name is the slug
  std::vector<std::string> aliases;  // other names it answers to, lower case
  int64_t published_parameters = 0;  // 0: not published
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

struct GpuEntry {
  GpuSpec spec;
  std::vector<std::string> aliases;
  std::string vendor;  // "nvidia" or "amd"
  std::string source;
  std::string uncertain;  // comma-separated figures that the source itself doubts; empty: none
};

const std::vector<LanguageModelEntry>& LanguageModels();
const std::vector<EncoderEntry>& Encoders();
const std::vector<VisionLanguageEntry>& VisionLanguageModels();
const std::vector<GpuEntry>& Gpus();

// Look-ups by slug or alias; the name is compared in lower case. nullptr: unknown.
const LanguageModelEntry* FindLanguageModel(std::string_view name);
const EncoderEntry* FindEncoder(std::string_view name);
const VisionLanguageEntry* FindVisionLanguageModel(std::string_view name);
const GpuEntry* FindGpu(std::string_view name);

// The projector that joins `encoder` to a language model of width `llm_hidden` where none is
// published: a 2-layer MLP after merging encoder tokens down to llm_tokens_per_unit (pixel
// shuffle), as InternVL 1.5 and LLaVA 1.5 do.
Projector DefaultProjector(const Encoder& encoder, int64_t llm_hidden);

// Up to `limit` slugs most like `name`, for "did you mean": first those that have every word of it
// ("h100"), then those whose edit distance over slug and aliases is at most half of its length,
// each nearest first. Deterministic.
std::vector<std::string> SimilarModels(std::string_view name, int limit);
std::vector<std::string> SimilarGpus(std::string_view name, int limit);

// Learnable parameters, counted from the dimensions. Encoders: blocks, patch embedding, class
// tokens and positions; not the norms before and after the blocks (at most 4 x hidden), nor pooling
// heads, which no language model uses.
int64_t CountParameters(const LanguageModel& model);
// Counts only the experts that a token visits.
int64_t CountActiveParameters(const LanguageModel& model);
int64_t CountParameters(const Encoder& encoder);
int64_t CountParameters(const Projector& projector, int64_t llm_hidden);
int64_t CountParameters(const ModelSpec& model);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CATALOG_CATALOG_H_
