// Names of models and components, looked up in the catalogue.
#ifndef EVENKEEL_SERVER_CONVERT_MODEL_MODEL_NAME_H_
#define EVENKEEL_SERVER_CONVERT_MODEL_MODEL_NAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "planner/catalog/catalog.h"
#include "planner/model/model_spec.h"
#include "server/convert/violations.h"

namespace evenkeel::server {

// Finds a published model, a language model, a tuned variant of either ("-Instruct"), or
// "ENCODER+LANGUAGE_MODEL" with the default projector. Returns false after a violation at `field`,
// which lists the nearest accepted names.
bool ModelByName(std::string_view name, const FieldPath& field, ViolationSink& sink,
                 planner::ModelSpec* model, std::string* source);

// Returns the source of the dimensions of such a pair, given the sources of both halves.
std::string PairSource(std::string_view encoder, std::string_view language_model);

// Returns true if the catalogue has `name` itself, as a model or as a pair of components. Names of
// variants stay free as labels of described models.
bool IsCatalogModelName(std::string_view name);

// Returns nullptr after a violation at `field`.
const planner::EncoderEntry* EncoderByName(std::string_view name, const FieldPath& field,
                                           ViolationSink& sink);

// A language model of the catalogue, or one with a published config.json.
struct NamedLanguageModel {
  const planner::LanguageModel* spec;  // lives as long as the process
  std::string source;
};
// Returns nullopt after a violation at `field`.
std::optional<NamedLanguageModel> LanguageModelByName(std::string_view name, const FieldPath& field,
                                                      ViolationSink& sink);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MODEL_MODEL_NAME_H_
