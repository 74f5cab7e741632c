#include "server/convert/model_config.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "planner/base/name_search.h"
#include "server/convert/checks.h"
#include "server/convert/config_architectures.h"
#include "server/convert/config_keys.h"

namespace evenkeel::server {
namespace {

using Json = nlohmann::json;

// Language models may have so many classes of layers; the planner has room for a few more.
constexpr size_t kClassesAtMost = 8;

std::string KeyText(std::string_view key) { return "\"" + std::string(key) + "\""; }

class Reader {
 public:
  Reader(const Json& config, const ConfigArchitecture& architecture, const FieldPath& field,
         ViolationSink& sink)
      : config_(config),
        architecture_(architecture),
        defaults_(Json::parse(architecture.defaults)),
        field_(field),
        sink_(sink) {}

  planner::LanguageModel Read() {
    ReadShape();
    ReadFlags();
    if (architecture_.latent) ReadLatent();
    if (architecture_.experts.layers != ExpertLayers::kNone) ReadExperts();
    if (valid_) ReadLayers();
    RefuseUnknownKeys();
    return std::move(model_);
  }

 private:
  void Fail(const std::string& text) {
    valid_ = false;
    sink_.Add(field_, text);
  }

  // Returns the value of a key, what it is where the config leaves it out, or nullptr.
  const Json* Find(std::string_view key) {
    if (key.empty()) return nullptr;
    read_.insert(std::string(key));
    const Json* given = In(config_, key);
    for (const std::string_view other : AliasesOf(key)) {
      const Json* alias = In(config_, other);
      if (alias == nullptr) continue;
      read_.insert(std::string(other));
      if (given != nullptr && *given != *alias)
        Fail(KeyText(key) + " and " + KeyText(other) + " mean the same and must not differ");
      if (given == nullptr) given = alias;
    }
    return given != nullptr ? given : In(defaults_, key);
  }

  static const Json* In(const Json& values, std::string_view key) {
    const auto at = values.find(std::string(key));
    return at != values.end() && !at->is_null() ? &*at : nullptr;
  }

  int64_t Number(std::string_view key, const Json& value, IntRange range) {
    const bool whole = value.is_number_integer() &&
                       !(value.is_number_unsigned() && value.get<uint64_t>() > (1ULL << 62));
    const int64_t number = whole ? value.get<int64_t>() : 0;
    if (whole && number >= range.min && number <= range.max) return number;
    Fail(KeyText(key) + " must be a whole number from " + std::to_string(range.min) + " to " +
         std::to_string(range.max) + ", but is " +
         Quoted(value.dump(-1, ' ', true, Json::error_handler_t::replace)));
    return range.min;
  }

  int64_t Required(std::string_view key, IntRange range) {
    const Json* value = Find(key);
    if (value != nullptr) return Number(key, *value, range);
    Fail("lacks " + KeyText(key) + ", which " + std::string(architecture_.model_type) + " needs");
    return range.min;
  }

  int64_t Or(std::string_view key, IntRange range, int64_t fallback) {
    const Json* value = Find(key);
    return value == nullptr ? fallback : Number(key, *value, range);
  }

  bool Flag(const ConfigFlag& flag) {
    if (flag.key.empty()) return flag.fixed;
    const Json* value = Find(flag.key);
    if (value == nullptr) return flag.fixed;
    if (value->is_boolean()) return value->get<bool>();
    Fail(KeyText(flag.key) + " must be true or false");
    return false;
  }

  void ReadShape() {
    model_.layers = Required("num_hidden_layers", {1, 512});
    model_.hidden = Required("hidden_size", {64, 65536});
    model_.heads = Required("num_attention_heads", {1, 1024});
    model_.vocab = Required("vocab_size", {256, 2097152});
    model_.ffn = Required(architecture_.ffn, {64, 262144});
    const int64_t kv_heads =
        architecture_.grouped ? Or("num_key_value_heads", {1, 1024}, model_.heads) : model_.heads;
    model_.kv_heads = architecture_.latent ? model_.heads : kv_heads;
    const int64_t head = Or("head_dim", {8, 512}, 0);
    if (architecture_.latent) {
      model_.head_dim = std::max<int64_t>(8, head);
    } else if (head > 0) {
      model_.head_dim = head;
    } else if (valid_ && model_.hidden % model_.heads != 0) {
      Fail("lacks \"head_dim\", and \"num_attention_heads\" does not divide \"hidden_size\"");
    } else {
      model_.head_dim = model_.hidden / model_.heads;
    }
    if (valid_ && model_.heads % model_.kv_heads != 0)
      Fail("\"num_key_value_heads\" must divide \"num_attention_heads\" (" +
           std::to_string(model_.heads) + "), but is " + std::to_string(model_.kv_heads));
    model_.tied_embeddings = Flag({.key = "tie_word_embeddings"});
  }

  void ReadFlags() {
    model_.norm = architecture_.norm;
    model_.norm_weights = architecture_.norm_weights;
    model_.layer_norms = Flag(architecture_.parallel) ? 1 : architecture_.layer_norms;
    model_.gated_mlp = architecture_.gated;
    model_.qkv_bias = Flag(architecture_.qkv_bias);
    model_.out_bias = Flag(architecture_.out_bias);
    model_.mlp_bias = Flag(architecture_.mlp_bias);
    model_.head_bias = Flag(architecture_.head_bias);
    model_.qk_norm = Flag(architecture_.head_norm);
    model_.width_qk_norm = Flag(architecture_.width_norm);
    model_.attention_sinks = architecture_.sinks;
  }

  void ReadLatent() {
    constexpr IntRange kRanks = {1, 65536}, kSizes = {8, 512};
    model_.mla = planner::MlaSpec{.q_lora_rank = QueryRank(kRanks),
                                  .kv_lora_rank = Required("kv_lora_rank", kRanks),
                                  .qk_nope_dim = Required("qk_nope_head_dim", kSizes),
                                  .qk_rope_dim = Required("qk_rope_head_dim", kSizes),
                                  .v_dim = Required("v_head_dim", kSizes)};
    if (Flag({.key = "attention_bias"}))
      Fail(std::string(kNotYet) + "\"attention_bias\" with latent attention; it must be false");
  }

  // Here a null says something: queries are projected directly.
  int64_t QueryRank(IntRange range) {
    const auto at = config_.find("q_lora_rank");
    if (at != config_.end() && at->is_null()) {
      read_.insert("q_lora_rank");
      return 0;
    }
    return Required("q_lora_rank", range);
  }

  void ReadExperts() {
    const ConfigExperts& from = architecture_.experts;
    planner::MoeSpec moe;
    moe.experts = Required(from.count, {2, 4096});
    moe.top_k = Required(from.per_token, {1, std::max<int64_t>(1, moe.experts)});
    moe.expert_ffn = Required(from.width, {64, 262144});
    if (!from.shared.empty()) moe.shared_ffn = Or(from.shared, {0, 64}, 0) * moe.expert_ffn;
    if (!from.shared_width.empty()) moe.shared_ffn = Or(from.shared_width, {0, 262144}, 0);
    moe.expert_bias = from.router_bias;
    moe.mlp_bias = from.mlp_bias || model_.mlp_bias;
    moe.shared_gate = from.shared_gate && moe.shared_ffn > 0;
    model_.moe = moe;
  }

  // Returns the elements of a list of numbers; nullopt if the config has none.
  std::optional<std::vector<int64_t>> List(std::string_view key, IntRange range) {
    const Json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    std::vector<int64_t> list;
    if (!value->is_array() || value->size() > 512) {
      Fail(KeyText(key) + " must be a list of at most 512 numbers");
      return list;
    }
    for (const Json& element : *value) list.push_back(Number(key, element, range));
    return list;
  }

  std::vector<bool> LayersWithExperts() {
    const size_t layers = static_cast<size_t>(model_.layers);
    std::vector<bool> experts(layers, false);
    const auto mark = [&](const auto& has) {
      for (size_t i = 0; i < layers; ++i) experts[i] = has(static_cast<int64_t>(i));
    };
    switch (architecture_.experts.layers) {
      case ExpertLayers::kNone:
        break;
      case ExpertLayers::kAll:
        mark([](int64_t) { return true; });
        break;
      case ExpertLayers::kBehindFirst: {
        const int64_t dense = Or("first_k_dense_replace", {0, model_.layers}, 0);
        mark([&](int64_t i) { return i >= dense; });
        break;
      }
      case ExpertLayers::kSparseStep: {
        const int64_t step = Or("decoder_sparse_step", {1, 512}, 1);
        mark([&](int64_t i) { return (i + 1) % step == 0; });
        for (const int64_t i :
             List("mlp_only_layers", {0, model_.layers - 1}).value_or(std::vector<int64_t>{}))
          experts[static_cast<size_t>(i)] = false;
        break;
      }
      case ExpertLayers::kInterleaved: {
        const int64_t step = Or("interleave_moe_layer_step", {1, 512}, 1);
        mark([&](int64_t i) { return (i + 1) % step == 0; });
        if (const auto given = List("moe_layers", {0, model_.layers - 1})) {
          mark([&](int64_t i) { return std::count(given->begin(), given->end(), i) > 0; });
        }
        break;
      }
      case ExpertLayers::kRange: {
        const int64_t step = Or("moe_layer_interval", {1, 512}, 1);
        const int64_t first = Or("moe_layer_start_index", {0, 511}, 0);
        const int64_t last = Or("moe_layer_end_index", {-1, 511}, -1);
        mark([&](int64_t i) {
          return (i + 1) % step == 0 && i >= first && (last < 0 || i <= last);
        });
        break;
      }
    }
    return experts;
  }

  using Kinds = std::vector<planner::AttentionKind>;

  // Returns how each layer attends where the config has no `layer_types`.
  Kinds AttentionByRule() {
    using planner::AttentionKind;
    Kinds kinds(static_cast<size_t>(model_.layers), AttentionKind::kFull);
    const bool window = Find("sliding_window") != nullptr;
    const auto mark = [&](AttentionKind kind, const auto& has) {
      for (size_t i = 0; i < kinds.size(); ++i)
        if (has(static_cast<int64_t>(i))) kinds[i] = kind;
    };
    switch (architecture_.windows) {
      case WindowLayers::kNone:
        break;
      case WindowLayers::kAll:
        if (window) mark(AttentionKind::kWindow, [](int64_t) { return true; });
        break;
      case WindowLayers::kBehindFirst: {
        const int64_t full = Or("max_window_layers", {0, 512}, 0);
        if (Flag({.key = "use_sliding_window"}) && window)
          mark(AttentionKind::kWindow, [&](int64_t i) { return i >= full; });
        break;
      }
      case WindowLayers::kPattern: {
        const int64_t every = Or("sliding_window_pattern", {1, 512}, 1);
        if (window) mark(AttentionKind::kWindow, [&](int64_t i) { return (i + 1) % every != 0; });
        break;
      }
      case WindowLayers::kChunks: {
        const int64_t every = Or("no_rope_layer_interval", {1, 512}, 1);
        mark(AttentionKind::kChunked, [&](int64_t i) { return (i + 1) % every != 0; });
        if (const auto rope = List("no_rope_layers", {0, 1}); rope && !rope->empty()) {
          for (size_t i = 0; i < kinds.size(); ++i) {
            const bool chunks = i < rope->size() && (*rope)[i] == 1;
            kinds[i] = chunks ? AttentionKind::kChunked : AttentionKind::kFull;
          }
        }
        break;
      }
    }
    return kinds;
  }

  Kinds Attention() {
    using planner::AttentionKind;
    const Json* types = Find("layer_types");
    Kinds kinds = AttentionByRule();
    if (types == nullptr) return kinds;
    if (!types->is_array() || types->size() != kinds.size()) {
      Fail("\"layer_types\" must be a list with one entry per layer (" +
           std::to_string(kinds.size()) + ")");
      return kinds;
    }
    for (size_t i = 0; i < kinds.size(); ++i) {
      const Json& type = (*types)[i];
      if (type == "full_attention") {
        kinds[i] = AttentionKind::kFull;
      } else if (type == "sliding_attention") {
        kinds[i] = AttentionKind::kWindow;
      } else if (type == "chunked_attention") {
        kinds[i] = AttentionKind::kChunked;
      } else {
        Fail(std::string(kNotYet) + "\"layer_types\" with " +
             Quoted(type.dump(-1, ' ', true, Json::error_handler_t::replace)) +
             "; known: full_attention, sliding_attention, chunked_attention");
        break;
      }
    }
    return kinds;
  }

  void ReadLayers() {
    using planner::AttentionKind;
    const Kinds kinds = Attention();
    const std::vector<bool> experts = LayersWithExperts();
    if (!valid_) return;
    std::vector<planner::LanguageLayer> classes;
    for (size_t i = 0; i < kinds.size(); ++i) {
      planner::LanguageLayer layer{.attention = kinds[i], .experts = experts[i]};
      if (kinds[i] == AttentionKind::kWindow)
        layer.window_tokens = Required("sliding_window", {1, int64_t{1} << 24});
      if (kinds[i] == AttentionKind::kChunked)
        layer.window_tokens = Required("attention_chunk_size", {1, int64_t{1} << 24});
      if (!valid_) return;
      if (std::find(classes.begin(), classes.end(), layer) == classes.end())
        classes.push_back(layer);
      if (!model_.runs.empty() && model_.runs.back().layer == layer) {
        ++model_.runs.back().count;
      } else {
        model_.runs.push_back({layer, 1});
      }
    }
    if (classes.size() > kClassesAtMost)
      Fail("has " + std::to_string(classes.size()) + " different layers; at most " +
           std::to_string(kClassesAtMost));
    if (architecture_.windows == WindowLayers::kNone && Flag({.key = "use_sliding_window"}))
      Fail(std::string(kNotYet) + "\"use_sliding_window\" of " +
           std::string(architecture_.model_type) + "; it must be false");
    const planner::LanguageLayer plain{.experts = model_.moe.has_value()};
    if (classes.size() == 1 && classes.front() == plain) model_.runs.clear();
    if (std::find(experts.begin(), experts.end(), true) == experts.end()) model_.moe.reset();
  }

  // A key that speaks of shapes may not be passed over. What is null, false or 0 is no feature.
  void RefuseUnknownKeys() {
    std::vector<std::string> unknown;
    const auto& unread = architecture_.unread;
    for (const auto& [key, value] : config_.items()) {
      if (value.is_null() || value == Json(false) || value == Json(0) || read_.count(key) > 0 ||
          !MayChangeShapes(key) || std::find(unread.begin(), unread.end(), key) != unread.end())
        continue;
      if (key == "moe_layer_freq" && value == Json(1)) continue;
      unknown.push_back(KeyText(Shown(key)));
    }
    if (unknown.empty()) return;
    const size_t count = unknown.size();
    if (count > 5) unknown.resize(5);
    Fail("has keys that " + std::string(architecture_.model_type) +
         " does not read and that may change the model's shape: " + absl::StrJoin(unknown, ", ") +
         (count > 5 ? " and " + std::to_string(count - 5) + " more" : "") +
         "; remove them if they do not");
  }

  static std::string Shown(const std::string& key) {
    const std::string quoted = Quoted(key);  // without hidden characters, and cut
    return quoted.size() >= 2 ? quoted.substr(1, quoted.size() - 2) : quoted;
  }

  const Json& config_;
  const ConfigArchitecture& architecture_;
  const Json defaults_;
  const FieldPath& field_;
  ViolationSink& sink_;
  planner::LanguageModel model_;
  std::set<std::string> read_ = {"model_type", "architectures"};
  bool valid_ = true;
};

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

}  // namespace

std::optional<ConfiguredModel> ModelFromConfig(std::string_view json, const FieldPath& field,
                                               ViolationSink& sink) {
  if (static_cast<int64_t>(json.size()) > kMaxConfigBytes) {
    sink.Add(field, "is " + std::to_string(json.size()) + " bytes; at most " +
                        std::to_string(kMaxConfigBytes));
    return std::nullopt;
  }
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth < 32; };
  Json config = Json::parse(json, shallow, /*allow_exceptions=*/false);
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
  ConfiguredModel model{.spec = Reader(config, *at, field, sink).Read(), .model_type = name};
  if (sink.count() != before) return std::nullopt;
  model.source =
      "config.json of model type " + name + ", as " + std::string(at->source) + " reads it";
  return model;
}

}  // namespace evenkeel::server
