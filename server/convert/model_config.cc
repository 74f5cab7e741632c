#include "server/convert/model_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "planner/base/name_search.h"
#include "server/convert/checks.h"
#include "server/convert/config_architectures.h"
#include "server/convert/config_encoders.h"
#include "server/convert/config_language_model.h"
#include "server/convert/config_values.h"

namespace evenkeel::server {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kVisionConfig = "vision_config", kTextConfig = "text_config";

// Keys whose models the planner cannot describe yet, each with what it stands for.
constexpr std::pair<std::string_view, std::string_view> kNotYetKeys[] = {
    {"audio_config", "an audio encoder from config.json: give the value of \"text_config\" alone"},
    {"thinker_config", "models of several encoders: give the value of the \"text_config\" alone"}};

// Keys of a whole config that say nothing of shapes, or say again what its parts do.
const std::vector<std::string_view>& UnreadOfWhole() {
  static const std::vector<std::string_view> keys = {
      kVisionConfig,          kTextConfig,
      "hidden_size",          "vocab_size",
      "projection_dim",       "projector_hidden_act",
      "image_seq_length",     "image_grid_pinpoints",
      "vision_feature_layer", "vision_feature_select_strategy",
      "vision_aspect_ratio",  "tie_word_embeddings"};
  return keys;
}

bool IsPresent(const Json& config, std::string_view key) {
  const auto at = config.find(std::string(key));
  return at != config.end() && !at->is_null();
}

std::string TypeOf(const Json& config) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() ? type->get<std::string>() : "";
}

template <typename Record>
const Record* Find(const std::vector<Record>& records, std::string_view model_type) {
  const auto at = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.model_type == model_type;
  });
  return at == records.end() ? nullptr : &*at;
}

template <typename Record>
std::string NotKnown(const std::vector<Record>& records, std::string_view key,
                     const std::string& type) {
  planner::NameSearch search(type.substr(0, 64));
  for (const Record& known : records) search.Add(std::string(known.model_type), {});
  return "\"" + std::string(key) + "\" " + Quoted(type) + " is not known" +
         NearestText(std::move(search).Nearest(kSuggestions));
}

// Returns the language model's part of a config, with what the whole says of it.
Json TextOf(const Json& config, const ConfigWrapper* wrapper) {
  const bool inside =
      IsPresent(config, kTextConfig) && config[std::string(kTextConfig)].is_object();
  Json text = inside ? config[std::string(kTextConfig)] : config;
  if (!inside) text.erase(std::string(kVisionConfig));
  if (wrapper == nullptr) {
    if (inside && !text.contains("tie_word_embeddings") && IsPresent(config, "tie_word_embeddings"))
      text["tie_word_embeddings"] = config["tie_word_embeddings"];
    if (inside && TypeOf(text).empty()) text["model_type"] = TypeOf(config) + "_text";
    return text;
  }
  if (!inside || TypeOf(text).empty()) text["model_type"] = wrapper->language;
  const Json whole = Json::parse(wrapper->defaults);
  const bool given = IsPresent(config, "tie_word_embeddings");
  text["tie_word_embeddings"] =
      given ? config["tie_word_embeddings"] : whole["tie_word_embeddings"];
  if (TypeOf(text) != wrapper->language) return text;
  const Json defaults = Json::parse(wrapper->text_defaults);
  for (const auto& [key, value] : defaults.items())
    if (!text.contains(key)) text[key] = value;
  return text;
}

// Reads the parts of one config.
class ConfigReader {
 public:
  ConfigReader(const Json& config, const FieldPath& field, ViolationSink& sink)
      : config_(config), field_(field), sink_(sink) {}

  std::optional<ConfiguredModel> Read() {
    const int64_t before = sink_.count();
    const bool vision = IsPresent(config_, kVisionConfig);
    const ConfigWrapper* wrapper = nullptr;
    if (vision) {
      wrapper = server::Find(ConfigWrappers(), TypeOf(config_));
      if (wrapper == nullptr) {
        sink_.Add(field_, NotKnown(ConfigWrappers(), "model_type", TypeOf(config_)) +
                              " with a vision encoder; give the value of \"text_config\" alone to "
                              "plan its language model");
        return std::nullopt;
      }
    }
    ReadText(TextOf(config_, wrapper));
    if (wrapper != nullptr && sink_.count() == before) ReadVision(*wrapper);
    if (sink_.count() != before) return std::nullopt;
    return std::move(model_);
  }

 private:
  void ReadText(const Json& text) {
    const std::string type = TypeOf(text);
    if (type.empty()) return sink_.Add(field_, "lacks \"model_type\", such as \"llama\"");
    const ConfigArchitecture* known = server::Find(ConfigArchitectures(), type);
    if (known == nullptr)
      return sink_.Add(field_, NotKnown(ConfigArchitectures(), "model_type", type));
    const bool inside = IsPresent(config_, kTextConfig);
    ConfigValues values(text, known->defaults, known->model_type, inside ? kTextConfig : "", field_,
                        sink_);
    model_.spec = ReadLanguageModel(values, *known);
    values.RefuseUnknownKeys(known->unread);
    model_.model_type = type;
    model_.source =
        "config.json of model type " + type + ", as " + std::string(known->source) + " reads it";
  }

  void ReadVision(const ConfigWrapper& wrapper) {
    const Json& vision = config_[std::string(kVisionConfig)];
    if (!vision.is_object()) return sink_.Add(field_, "\"vision_config\" must be an object");
    const std::string type = TypeOf(vision).empty() ? std::string(wrapper.encoder) : TypeOf(vision);
    const ConfigEncoder* known = server::Find(ConfigEncoders(), type);
    if (known == nullptr)
      return sink_.Add(field_, NotKnown(ConfigEncoders(), "vision_config.model_type", type));
    ConfigValues values(vision, known->defaults, known->model_type, kVisionConfig, field_, sink_);
    ConfigValues whole(config_, wrapper.defaults, wrapper.model_type, "", field_, sink_);
    CheckFeatures(*known, whole);
    planner::EncoderTower tower = ReadTower(values, whole, *known, wrapper, model_.spec.hidden);
    if (wrapper.newline) tower.encoder.other_parameters += model_.spec.hidden;
    tower.encoder.name = type + "-config";
    values.RefuseUnknownKeys(known->unread);
    if (IsPresent(config_, kTextConfig)) whole.RefuseUnknownKeys(UnreadOfWhole());
    model_.towers.push_back(std::move(tower));
    model_.source += ", with its encoder of type " + type;
  }

  // Features of one layer, without the class token, are what a projector takes.
  static void CheckFeatures(const ConfigEncoder& encoder, ConfigValues& whole) {
    const Json* layers = whole.Find("vision_feature_layer");
    if (layers != nullptr && layers->is_array())
      whole.NotYet("\"vision_feature_layer\" with several layers; give one");
    const Json* strategy = whole.Find("vision_feature_select_strategy");
    if (strategy != nullptr && *strategy == Json("full") && encoder.class_tokens > 0)
      whole.NotYet(
          "\"vision_feature_select_strategy\" that keeps the class token; give "
          "\"default\"");
  }

  const Json& config_;
  const FieldPath& field_;
  ViolationSink& sink_;
  ConfiguredModel model_;
};

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
  return ConfigReader(config, field, sink).Read();
}

}  // namespace evenkeel::server
