#include "server/convert/config/parts.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "server/convert/checks.h"
#include "server/convert/config/keys.h"

namespace evenkeel::server {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxLayers = 512;

// Takes a value out of the config; null if there is none.
Json Take(Json& config, std::string_view key) {
  const auto at = config.find(std::string(key));
  if (at == config.end()) return nullptr;
  Json value = std::move(*at);
  config.erase(at);
  return value;
}

bool Has(const Json& config, std::string_view key) {
  const auto at = config.find(std::string(key));
  return at != config.end() && !at->is_null();
}

void Put(Json& config, std::string_view key, Json value) {
  if (!Has(config, key)) config[std::string(key)] = std::move(value);
}

// Puts the value of `other` under its synonym.
void PutSame(Json& config, std::string_view own, const std::string& other, const Json& value,
             std::vector<std::string>& faults) {
  if (Has(config, own) && config[std::string(own)] != value)
    faults.push_back("has " + Quoted(std::string(own)) + " and " + Quoted(other) +
                     ", which mean the same and must not differ");
  Put(config, own, value);
}

bool IsNothing(const Json& value) {
  return value.is_null() || value == Json(false) || value == Json(0) ||
         (value.is_structured() && value.empty());
}

void UnfoldPart(const ConfigPart& part, Json& config, std::vector<std::string>& faults) {
  if (!Has(config, part.key) || !config[std::string(part.key)].is_object()) return;
  const Json inner = Take(config, part.key);
  for (const auto& [key, value] : inner.items()) {
    const auto name = std::find_if(part.names.begin(), part.names.end(),
                                   [&key = key](const auto& known) { return known.first == key; });
    if (name != part.names.end()) {
      PutSame(config, name->second, std::string(part.key) + "." + key, value, faults);
    } else if (!IsNothing(value) && MayChangeShapes(key) &&
               std::find(part.unread.begin(), part.unread.end(), key) == part.unread.end()) {
      faults.push_back("has " + Quoted(std::string(part.key) + "." + key) +
                       ", which is not known and may change the model's shape; remove it if it "
                       "does not");
    }
  }
}

// Returns the layers of the config; 0 if it does not say how many there are.
size_t LayersOf(const Json& config) {
  const auto at = config.find("num_hidden_layers");
  if (at == config.end() || !at->is_number_unsigned()) return 0;
  return std::min<size_t>(kMaxLayers, at->get<size_t>());
}

// Lists may be longer than the model, because they include layers that predict further tokens.
void UnfoldCodes(const ConfigCodes& codes, Json& config, std::vector<std::string>& faults) {
  if (!Has(config, codes.key) || !config[std::string(codes.key)].is_array()) return;
  const Json numbers = Take(config, codes.key);
  Json types = Json::array();
  for (const Json& number : numbers) {
    if (types.size() == LayersOf(config)) break;
    const auto meaning =
        std::find_if(codes.meanings.begin(), codes.meanings.end(),
                     [&](const auto& known) { return number == Json(known.first); });
    if (meaning == codes.meanings.end()) {
      faults.push_back("has " + Quoted(std::string(codes.key)) + " with " +
                       Quoted(number.dump(-1, ' ', true, Json::error_handler_t::replace)) +
                       ", which is not known");
      return;
    }
    types.push_back(meaning->second);
  }
  Put(config, codes.types, std::move(types));
}

void UnfoldPlaces(const std::vector<ConfigPlaces>& places, Json& config,
                  std::vector<std::string>& faults) {
  const auto listed = [&](const ConfigPlaces& of) { return Has(config, of.key); };
  if (!std::any_of(places.begin(), places.end(), listed)) return;
  Json types = Json::array();
  for (size_t i = 0; i < LayersOf(config); ++i) types.push_back("");
  for (const ConfigPlaces& of : places) {
    const Json list = Take(config, of.key);
    for (const Json& place : list.is_array() ? list : Json::array()) {
      const bool within = place.is_number_unsigned() && place.get<size_t>() >= 1 &&
                          place.get<size_t>() <= types.size();
      if (!within || types[place.get<size_t>() - 1] != "") {
        faults.push_back("has " + Quoted(std::string(of.key)) +
                         " with a place that is no layer's, or is listed twice");
        return;
      }
      types[place.get<size_t>() - 1] = of.type;
    }
  }
  Put(config, "layer_types", std::move(types));
}

bool IsTrue(const Json& value, bool fallback) {
  return value.is_boolean() ? value.get<bool>() : fallback;
}

// Falcon's newer layers have heads of keys by a key of their own, older ones have one or as many as
// of queries. Parallel attention and MLP share a norm, or have one each.
void UnfoldFalcon(Json& config) {
  const bool newer = IsTrue(Take(config, "new_decoder_architecture"), false);
  const bool one = IsTrue(Take(config, "multi_query"), true);
  const bool parallel = IsTrue(Take(config, "parallel_attn"), true);
  const Json heads = Take(config, "num_kv_heads"), norms = Take(config, "num_ln_in_parallel_attn");
  if (newer && !heads.is_null()) Put(config, "num_key_value_heads", heads);
  if (!newer && one) config["num_key_value_heads"] = 1;
  config["parallel_attn"] = parallel && (norms.is_null() ? !newer : norms != Json(2));
}

}  // namespace

void UnfoldConfig(const ConfigArchitecture& architecture, Json& config,
                  std::vector<std::string>& faults) {
  for (const auto& [other, own] : architecture.renamed)
    if (Has(config, other)) PutSame(config, own, std::string(other), Take(config, other), faults);
  if (architecture.model_type == "falcon") UnfoldFalcon(config);
  if (architecture.model_type == "opt" && !IsTrue(Take(config, "do_layer_norm_before"), true))
    faults.push_back("has \"do_layer_norm_before\" false, which is not supported");
  for (const ConfigPart& part : architecture.parts) UnfoldPart(part, config, faults);
  for (const ConfigCodes& codes : architecture.codes) UnfoldCodes(codes, config, faults);
  UnfoldPlaces(architecture.places, config, faults);
}

}  // namespace evenkeel::server
