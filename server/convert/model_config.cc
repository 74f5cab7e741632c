#include "server/convert/model_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "planner/base/name_search.h"
#include "server/convert/checks.h"
#include "server/convert/config_architectures.h"
#include "server/convert/config_language_model.h"
#include "server/convert/config_values.h"

namespace evenkeel::server {
namespace {

using Json = nlohmann::json;

// Lists model types as records with names, for NameSearch.
std::string NearestTypes(std::string_view type) {
  planner::NameSearch search(type);
  for (const ConfigArchitecture& known : ConfigArchitectures())
    search.Add(std::string(known.model_type), {});
  return NearestText(std::move(search).Nearest(kSuggestions));
}

// Keys whose models the planner cannot describe yet, each with what it stands for.
constexpr std::pair<std::string_view, std::string_view> kNotYetKeys[] = {
    {"vision_config",
     "a vision encoder from config.json: give the value of \"text_config\" alone, "
     "or describe the encoder in `encoders`"},
    {"audio_config", "an audio encoder from config.json: give the value of \"text_config\" alone"}};

// Returns the language model of a config that wraps it, without encoders.
Json TextConfigOf(const Json& config) {
  Json text = config["text_config"];
  if (!text.is_object()) return Json::object();
  const auto tied = config.find("tie_word_embeddings");
  if (tied != config.end() && !text.contains("tie_word_embeddings"))
    text["tie_word_embeddings"] = *tied;
  const auto type = config.find("model_type");
  if (type != config.end() && type->is_string() && !text.contains("model_type"))
    text["model_type"] = type->get<std::string>() + "_text";
  return text;
}

// Python writes numbers that JSON does not have; none of them is a shape.
std::string WithoutInfinities(std::string_view json) {
  std::string text;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    quoted = quoted != (json[i] == '"');
    if (quoted && json[i] == '\\' && i + 1 < json.size()) text += json[i++];
    bool number = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (quoted || number || json.substr(i, word.size()) != word) continue;
      text += "null";
      i += word.size() - 1;
      number = true;
    }
    if (!number) text += json[i];
  }
  return text;
}

}  // namespace

std::optional<ConfiguredModel> ModelFromConfig(std::string_view json, const FieldPath& field,
                                               ViolationSink& sink) {
  if (static_cast<int64_t>(json.size()) > kMaxConfigBytes) {
    sink.Add(field, "is " + std::to_string(json.size()) + " bytes; at most " +
                        std::to_string(kMaxConfigBytes));
    return std::nullopt;
  }
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth < 32; };
  Json config = Json::parse(WithoutInfinities(json), shallow, /*allow_exceptions=*/false);
  if (!config.is_object()) {
    sink.Add(field, "is not a JSON object: give the text of a model's config.json");
    return std::nullopt;
  }
  for (const auto& [key, what] : kNotYetKeys) {
    const auto at = config.find(std::string(key));
    if (at == config.end() || at->is_null()) continue;
    sink.Add(field, std::string(kNotYet) + std::string(what));
    return std::nullopt;
  }
  if (!config.contains("num_hidden_layers") && config.contains("text_config"))
    config = TextConfigOf(config);
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) {
    sink.Add(field, "lacks \"model_type\", such as \"llama\"");
    return std::nullopt;
  }
  const std::string name = type->get<std::string>();
  const auto& all = ConfigArchitectures();
  const auto at = std::find_if(all.begin(), all.end(), [&](const ConfigArchitecture& known) {
    return known.model_type == name;
  });
  if (at == all.end()) {
    sink.Add(field,
             "\"model_type\" " + Quoted(name) + " is not known" + NearestTypes(name.substr(0, 64)));
    return std::nullopt;
  }
  const int64_t before = sink.count();
  ConfigValues values(config, at->defaults, at->model_type, "", field, sink);
  ConfiguredModel model{.spec = ReadLanguageModel(values, *at), .model_type = name};
  values.RefuseUnknownKeys(at->unread);
  if (sink.count() != before) return std::nullopt;
  model.source =
      "config.json of model type " + name + ", as " + std::string(at->source) + " reads it";
  return model;
}

}  // namespace evenkeel::server
