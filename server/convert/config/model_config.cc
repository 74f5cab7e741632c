#include "server/convert/config/model_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "planner/base/name_search.h"
#include "server/convert/checks.h"
#include "server/convert/config/architectures.h"
#include "server/convert/config/encoders.h"
#include "server/convert/config/language_model.h"
#include "server/convert/config/parts.h"
#include "server/convert/config/values.h"

namespace evenkeel::server {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kVisionConfig = "vision_config", kAudioConfig = "audio_config",
                           kTextConfig = "text_config";

// Keys of language models in configs of other models.
constexpr std::string_view kTextKeys[] = {kTextConfig, "llm_config", "language_config"};

// The values that transformers takes for keys that a `text_config` of that type leaves out. They do
// not depend on the model around it.
constexpr std::pair<std::string_view, std::string_view> kTextShapes[] = {
    {"llama", R"({"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,
                  "num_attention_heads":32,"vocab_size":32000})"},
    {"mistral", R"({"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
                    "num_attention_heads":32,"vocab_size":32000})"},
    {"cohere2", R"({"hidden_size":8192,"intermediate_size":22528,"num_hidden_layers":40,
                    "num_attention_heads":64,"vocab_size":256000})"},
    {"qwen2", R"({"hidden_size":4096,"intermediate_size":22016,"num_hidden_layers":32,
                  "num_attention_heads":32,"vocab_size":151936})"},
    {"lfm2", R"({"hidden_size":2560,"intermediate_size":12288,"num_hidden_layers":32,
                 "num_attention_heads":32,"vocab_size":65536})"},
    {"gemma", R"({"hidden_size":3072,"intermediate_size":24576,"num_hidden_layers":28,
                  "num_attention_heads":16,"vocab_size":256000})"},
    {"gemma2", R"({"hidden_size":2304,"intermediate_size":9216,"num_hidden_layers":26,
                   "num_attention_heads":8,"vocab_size":256000})"}};

// Keys of parts that do not describe the model, or that the code for layers reads.
constexpr std::string_view kOtherConfigs[] = {"quantization_config", "compression_config",
                                              "generation_config", "per_layer_config",
                                              "transformers.js_config",
                                              // of inference with long prompts
                                              "dual_chunk_attention_config"};

// Keys of a whole config that do not affect shapes, or that repeat keys of its parts.
const std::vector<std::string_view>& UnreadOfWhole() {
  static const std::vector<std::string_view> keys = {
      kVisionConfig,          kAudioConfig,          kTextConfig,
      "hidden_size",          "vocab_size",          "projection_dim",
      "projector_hidden_act", "image_seq_length",    "image_grid_pinpoints",
      "vision_feature_layer", "vision_aspect_ratio", "vision_feature_select_strategy",
      "tie_word_embeddings"};
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
                     const std::string& type, const std::string& with = "") {
  planner::NameSearch search(type.substr(0, 64));
  for (const Record& known : records) search.Add(std::string(known.model_type), {});
  return "\"" + std::string(key) + "\" " + Quoted(type) + with + " is not known" +
         NearestText(std::move(search).Nearest(kSuggestions));
}

// Refuses parts that nobody reads, under any name.
void RefuseParts(const Json& config, const std::vector<std::string_view>& known,
                 const std::string& inside, const FieldPath& field, ViolationSink& sink) {
  for (const auto& [key, value] : config.items()) {
    if (!value.is_object() || value.empty() || !key.ends_with("_config") ||
        std::find(known.begin(), known.end(), key) != known.end())
      continue;
    sink.Add(field, "has the part " + Quoted(inside.empty() ? key : inside + "." + key) +
                        ", which " + TypeOf(config) +
                        " does not have; remove it if nothing in it "
                        "trains");
  }
}

bool AttendsToImages(const ConfigWrapper& wrapper) {
  return wrapper.vision.steps == ConfigSteps::kTiles;
}

bool HasObject(const Json& config, std::string_view key) {
  return IsPresent(config, key) && config[std::string(key)].is_object();
}

void TakeDefaults(std::string_view defaults, Json& text) {
  const Json values = Json::parse(defaults);
  for (const auto& [key, value] : values.items())
    if (!text.contains(key)) text[key] = value;
}

// Sets whether the head of a language model inside `wrapper` shares the embedding's weights.
void SetTie(const Json& config, const ConfigWrapper& wrapper, bool inside, Json& text) {
  constexpr const char* kTied = "tie_word_embeddings";
  if (wrapper.tie == ConfigTie::kText && inside) return;
  const bool by_text = wrapper.tie == ConfigTie::kEither && inside && text.contains(kTied) &&
                       text[kTied] == Json(true);
  const Json whole = Json::parse(wrapper.defaults);
  text[kTied] = IsPresent(config, kTied) ? config[kTied] : whole.value(kTied, Json(false));
  if (by_text) text[kTied] = true;
  if (wrapper.tie == ConfigTie::kNever) text[kTied] = false;
}

// Returns the language model's part of a config, with the keys of the whole that belong to it.
Json TextOf(const Json& config, const ConfigWrapper* wrapper, std::string_view text_key) {
  const bool inside = HasObject(config, text_key);
  Json text = inside ? config[std::string(text_key)] : config;
  if (!inside)
    for (const std::string_view encoder : {kVisionConfig, kAudioConfig})
      text.erase(std::string(encoder));
  const std::string own_type = TypeOf(text);
  if (wrapper == nullptr) {
    if (inside && !text.contains("tie_word_embeddings") && IsPresent(config, "tie_word_embeddings"))
      text["tie_word_embeddings"] = config["tie_word_embeddings"];
    if (inside && own_type.empty()) text["model_type"] = TypeOf(config) + "_text";
    return text;
  }
  if (!inside || own_type.empty()) text["model_type"] = wrapper->language;
  SetTie(config, *wrapper, inside, text);
  if (TypeOf(text) == wrapper->language) TakeDefaults(wrapper->text_defaults, text);
  for (const auto& [type, shape] : kTextShapes)
    if (inside && own_type == type) TakeDefaults(shape, text);
  return text;
}

// Reads the parts of one config.
class ConfigReader {
 public:
  ConfigReader(const Json& config, std::string_view inside, const FieldPath& field,
               ViolationSink& sink)
      : config_(config), inside_(inside), field_(field), sink_(sink) {}

  std::optional<ConfiguredModel> Read() {
    const int64_t before = sink_.count();
    const ConfigWrapper* wrapper = server::Find(ConfigWrappers(), TypeOf(config_));
    if (wrapper != nullptr) text_key_ = wrapper->text_key;
    if (RefuseWhole(wrapper)) return std::nullopt;
    // Where transformers reads audio, an encoder that the config leaves out is the default one.
    const bool vision = IsPresent(config_, kVisionConfig), audio = IsPresent(config_, kAudioConfig);
    const bool alone = wrapper != nullptr && !vision && !audio && !AttendsToImages(*wrapper) &&
                       (wrapper->audio.encoder.empty() || wrapper->audio.optional);
    if (alone) wrapper = nullptr;
    ReadText(TextOf(config_, wrapper, text_key_), wrapper);
    if (model_.spec.stream_kind == planner::StreamKind::kBlocks)
      model_.source += ", with what Kimi K3's report says of residuals, gates and experts";
    if (alone) model_.source += ", without an encoder: the config has none";
    if (wrapper != nullptr && sink_.count() == before) ReadEncoders(*wrapper);
    if (sink_.count() != before) return std::nullopt;
    return std::move(model_);
  }

 private:
  std::string Inside(std::string_view key) const {
    return inside_.empty() ? std::string(key) : inside_ + "." + std::string(key);
  }

  // Returns whether the config belongs to a model that is not known as a whole.
  bool RefuseWhole(const ConfigWrapper* wrapper) {
    const std::string type = TypeOf(config_);
    const bool vision = IsPresent(config_, kVisionConfig), audio = IsPresent(config_, kAudioConfig);
    const auto* unknown = server::Find(ConfigUnknowns(), type);
    if (unknown != nullptr && (vision || audio)) {
      sink_.Add(field_, std::string(kNotYet) + "\"model_type\" " + Quoted(type) +
                            " as a whole: " + std::string(unknown->reason) + "; " + Advice());
      return true;
    }
    if (wrapper != nullptr) return false;
    if (vision || audio) {
      sink_.Add(field_, NotKnown(ConfigWrappers(), "model_type", type,
                                 vision ? " with a vision encoder" : " with an audio encoder") +
                            "; " + Advice());
      return true;
    }
    const auto has_text = [&](std::string_view key) { return HasObject(config_, key); };
    const bool known = type.empty() || unknown != nullptr ||
                       server::Find(ConfigArchitectures(), type + "_text") != nullptr;
    if (known || std::none_of(std::begin(kTextKeys), std::end(kTextKeys), has_text)) return false;
    sink_.Add(field_,
              NotKnown(ConfigWrappers(), "model_type", type, " with a language model as a part") +
                  "; " + Advice());
    return true;
  }

  // Advises the caller what to give in place of a model that is not known as a whole.
  std::string Advice() const {
    for (const std::string_view key : kTextKeys)
      if (HasObject(config_, key))
        return "give the value of " + Quoted(std::string(key)) +
               " alone to plan its language model";
    return "describe a model of another type by language_model and encoders";
  }

  void RefuseOtherParts(const ConfigWrapper* wrapper) {
    std::vector<std::string_view> read(std::begin(kOtherConfigs), std::end(kOtherConfigs));
    if (const auto* text = server::Find(ConfigArchitectures(), TypeOf(config_)))
      for (const ConfigPart& part : text->parts) read.push_back(part.key);
    const bool flat = wrapper != nullptr && wrapper->flat;
    if (!flat) read.push_back(text_key_);
    if (wrapper != nullptr && !wrapper->vision.encoder.empty()) read.push_back(kVisionConfig);
    if (wrapper != nullptr && !wrapper->audio.encoder.empty() && !flat)
      read.push_back(kAudioConfig);
    if (wrapper != nullptr && !wrapper->part.empty()) read.push_back(wrapper->part);
    RefuseParts(config_, read, inside_, field_, sink_);
  }

  void ReadText(Json text, const ConfigWrapper* wrapper) {
    const std::string type = TypeOf(text);
    if (type.empty()) return sink_.Add(field_, "lacks \"model_type\", such as \"llama\"");
    const ConfigArchitecture* known = server::Find(ConfigArchitectures(), type);
    if (known == nullptr)
      return sink_.Add(field_, NotKnown(ConfigArchitectures(), "model_type", type) +
                                   "; describe a model of another type by language_model and "
                                   "encoders");
    RefuseOtherParts(wrapper);
    if (!known->cross_layers.empty() && (wrapper == nullptr || !AttendsToImages(*wrapper)))
      return sink_.Add(field_, "\"model_type\" " + Quoted(type) +
                                   " needs its encoder: some of its layers attend to what that "
                                   "gives; give the config of the whole");
    if (known->cross && TypeOf(config_) != type)
      return sink_.Add(field_, "\"model_type\" " + Quoted(type) +
                                   " cannot be a part of another model: its decoder attends to "
                                   "what its own encoder gives");
    const std::string inside = IsPresent(config_, text_key_) ? Inside(text_key_) : inside_;
    std::vector<std::string> faults;
    UnfoldConfig(*known, text, faults);
    for (const std::string& fault : faults) sink_.Add(field_, fault);
    ConfigValues values(text, known->defaults, known->model_type, inside, field_, sink_);
    model_.spec = ReadLanguageModel(values, *known);
    const bool own_tables = values.Flag({.key = "mtp_use_dedicated_embeddings"});
    if (!own_tables) model_.predicted_layers = values.Or(known->predicted, {0, 64}, 0);
    // After a fault, the code that reads a key may not have run.
    if (values.valid()) values.RefuseUnknownKeys(known->unread);
    model_.model_type = type;
    model_.source =
        "config.json of model type " + type + ", as " + std::string(known->source) + " reads it";
  }

  // Returns the config with the keys of another object next to its own, as "part.key".
  Json WithPart(std::string_view part) const {
    Json whole = config_;
    if (!IsPresent(config_, part) || !config_[std::string(part)].is_object()) return whole;
    for (const auto& [key, value] : config_[std::string(part)].items())
      if (key != "model_type") whole[std::string(part) + "." + key] = value;
    whole.erase(std::string(part));
    return whole;
  }

  void ReadEncoders(const ConfigWrapper& wrapper) {
    const int64_t before = sink_.count();
    const Json with_part = WithPart(wrapper.part);
    ConfigValues whole(with_part, wrapper.defaults, wrapper.model_type, inside_, field_, sink_);
    ReadEncoder(wrapper.vision, kVisionConfig, whole, wrapper.flat);
    ReadEncoder(wrapper.audio, kAudioConfig, whole, wrapper.flat);
    const int64_t rows = model_.spec.vocab;
    const bool own_head = !wrapper.vocab.empty() && !model_.spec.tied_embeddings;
    if (own_head && whole.Or(wrapper.vocab, {1, 1 << 24}, rows) != rows)
      whole.Fail(whole.Shown(wrapper.vocab) + " must be the language model's, " +
                 std::to_string(rows));
    std::vector<std::string_view> unread = UnreadOfWhole();
    unread.insert(unread.end(), wrapper.unread.begin(), wrapper.unread.end());
    // Files of some versions repeat keys of the language model's part in the whole.
    const Json& text = HasObject(config_, text_key_) ? config_[text_key_] : Json::object();
    for (const auto& [key, value] : config_.get_ref<const Json::object_t&>())
      if (text.contains(key) && text[key] == value) unread.push_back(key);
    if (!IsPresent(config_, text_key_))  // the keys next to a part are the language model's
      for (const auto& [key, value] : with_part.get_ref<const Json::object_t&>())
        if (wrapper.part.empty() || !key.starts_with(std::string(wrapper.part) + "."))
          unread.push_back(key);
    if (!whole.valid() || sink_.count() != before) return;
    whole.RefuseUnknownKeys(unread);
    if (model_.towers.empty()) return;
    if (AttendsToImages(wrapper))
      model_.spec.cross = {.width = model_.spec.hidden,
                           .tokens_per_unit = model_.towers.front().encoder.tokens_per_unit,
                           .head_norm = true,
                           .other_parameters = 2};
    if (wrapper.audio.steps != ConfigSteps::kNormAlone) return;
    const planner::Encoder& heard = model_.towers.back().encoder;
    model_.spec.cross = {.width = heard.hidden, .tokens_per_unit = heard.tokens_per_unit};
  }

  void ReadEncoder(const ConfigJoint& joint, std::string_view key, ConfigValues& whole, bool flat) {
    if (joint.encoder.empty() || (joint.optional && !IsPresent(config_, key))) return;
    const std::string inside = flat ? inside_ : Inside(key);
    const Json config = flat                      ? config_
                        : IsPresent(config_, key) ? config_[std::string(key)]
                                                  : Json::object();
    if (!config.is_object()) return sink_.Add(field_, Quoted(inside) + " must be an object");
    const std::string type = TypeOf(config).empty() ? std::string(joint.encoder) : TypeOf(config);
    const ConfigEncoder* known = server::Find(ConfigEncoders(), type);
    if (known == nullptr)
      return sink_.Add(field_, NotKnown(ConfigEncoders(), inside + ".model_type", type));
    ConfigValues values(config, known->defaults, known->model_type, inside, field_, sink_);
    if ((known->modality == planner::Modality::kAudio) != (key == kAudioConfig))
      return sink_.Add(field_, values.Shown("model_type") + " is that of another kind of encoder");
    CheckFeatures(*known, whole);
    CheckImages(values, whole);
    planner::EncoderTower tower = ReadTower(values, whole, *known, joint, model_.spec);
    tower.encoder.name = type + (flat ? "-encoder-config" : "-config");
    if (values.valid() && whole.valid()) values.RefuseUnknownKeys(known->unread);
    model_.source +=
        (model_.towers.empty() ? ", with its encoder of type " : ", and of type ") + type;
    model_.towers.push_back(std::move(tower));
  }

  // InternVL's own files say which layer's features count, and how large images are.
  static void CheckImages(ConfigValues& encoder, ConfigValues& whole) {
    const Json* layer = whole.Find("select_layer");
    if (layer != nullptr && *layer != Json(-1))
      whole.NotYet("\"select_layer\" other than -1: the layers behind it would not train");
    const Json* forced = whole.Find("force_image_size");
    if (forced == nullptr) return;
    const Json* size = encoder.Find("image_size");
    if (size == nullptr || *forced != *size)
      whole.NotYet("\"force_image_size\" other than " + encoder.Shown("image_size"));
  }

  // A projector takes the features of one layer, without the class token.
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
  const std::string inside_;  // key of the part that the config is; empty: the whole
  std::string text_key_ = std::string(kTextConfig);
  const FieldPath& field_;
  ViolationSink& sink_;
  ConfiguredModel model_;
};

// Reads the trained part of a model of several parts.
std::optional<ConfiguredModel> ReadPart(const Json& config, const ConfigWhole& whole,
                                        const FieldPath& field, ViolationSink& sink) {
  const int64_t before = sink.count();
  std::vector<std::string_view> known = whole.left_out;
  known.push_back(whole.part);
  RefuseParts(config, known, "", field, sink);
  ConfigValues values(config, "{}", whole.model_type, "", field, sink);
  values.RefuseUnknownKeys(known);
  const std::string key(whole.part);
  if (!IsPresent(config, key) || !config[key].is_object()) {
    sink.Add(field, "lacks " + Quoted(key) + ", an object");
    return std::nullopt;
  }
  Json part = config[key];
  if (TypeOf(part).empty()) part["model_type"] = whole.part_type;
  if (TypeOf(part) != whole.part_type)
    sink.Add(field, values.Shown(key) + " must be of \"model_type\" " +
                        Quoted(std::string(whole.part_type)) + ", but is of " +
                        Quoted(TypeOf(part)));
  if (sink.count() != before) return std::nullopt;
  auto model = ConfigReader(part, whole.part, field, sink).Read();
  if (!model) return model;
  model->source += "; \"" + key + "\" alone trains:";
  for (const std::string_view left_out : whole.left_out)
    model->source += std::string(left_out == whole.left_out.front() ? " " : " and ") + "\"" +
                     std::string(left_out) + "\"";
  model->source += " are left out";
  return model;
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

// Returns the class of a model that classifies, or that gives only states, where the config names
// one; empty if it does not.
std::string WithoutHead(const Json& config) {
  const auto classes = config.find("architectures");
  if (classes == config.end() || !classes->is_array() || classes->empty() ||
      !classes->front().is_string())
    return "";
  const std::string name = classes->front().get<std::string>();
  // Some models of a publisher's own code are called so, and have a head.
  if (name.ends_with("ChatModel") || name.ends_with("HeadModel")) return "";
  for (const char* end : {"ForSequenceClassification", "ForTokenClassification", "ForRewardModel",
                          "ForProcessRewardModel", "RewardModel", "Model"})
    if (name.ends_with(end)) return name;
  return "";
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
  const std::string type = TypeOf(config);
  const auto decodes = config.find("is_encoder_decoder");
  const ConfigWrapper* flat = Find(ConfigWrappers(), type);
  if (decodes != config.end() && *decodes == Json(true) && (flat == nullptr || !flat->flat)) {
    sink.Add(field, std::string(kNotYet) + "encoder-decoders such as " + Quoted(type) +
                        "; Whisper's is known");
    return std::nullopt;
  }
  const bool known = flat != nullptr || Find(ConfigArchitectures(), type) != nullptr;
  if (const std::string what = WithoutHead(config); known && !what.empty()) {
    sink.Add(field, std::string(kNotYet) + "\"architectures\" " + Quoted(what) +
                        ", a model without a head that predicts tokens; remove \"architectures\" "
                        "to plan a model with one");
    return std::nullopt;
  }
  if (const ConfigWhole* whole = Find(ConfigWholes(), type))
    return ReadPart(config, *whole, field, sink);
  return ConfigReader(config, "", field, sink).Read();
}

}  // namespace evenkeel::server
