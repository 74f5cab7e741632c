// Models by the names under which Hugging Face publishes them, each read from its own config.json.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_PUBLISHED_MODELS_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_PUBLISHED_MODELS_H_

#include <string>
#include <string_view>
#include <vector>

#include "planner/model/model_spec.h"

namespace evenkeel::server {

struct PublishedModel {
  std::string name;         // such as "qwen3-8b"
  std::string id;           // in lower case, such as "qwen/qwen3-8b"
  planner::ModelSpec spec;  // trains in full
  std::string source;
};

const std::vector<PublishedModel>& PublishedModels();

// Finds a model by name or id, in any case. nullptr: there is none.
const PublishedModel* FindPublishedModel(std::string_view name);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_PUBLISHED_MODELS_H_
