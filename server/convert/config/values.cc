#include "server/convert/config/values.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "server/convert/config/keys.h"

namespace evenkeel::server {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxList = 512;
constexpr size_t kUnknownShown = 5;

const Json* In(const Json& values, std::string_view key) {
  const auto at = values.find(std::string(key));
  return at != values.end() && !at->is_null() ? &*at : nullptr;
}

// Returns the name of a key without the name of its object.
std::string_view InnermostOf(std::string_view key) { return key.substr(key.rfind('.') + 1); }

std::string Dump(const Json& value) {
  return Quoted(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace

ConfigValues::ConfigValues(const Json& config, std::string_view defaults,
                           std::string_view model_type, std::string_view inside,
                           const FieldPath& field, ViolationSink& sink)
    : config_(config),
      defaults_(Json::parse(defaults)),
      model_type_(model_type),
      inside_(inside),
      field_(field),
      sink_(sink) {}

std::string ConfigValues::Shown(std::string_view key) const {
  const std::string quoted = Quoted(std::string(key));  // without hidden characters, and cut
  if (inside_.empty() || quoted.size() < 2) return quoted;
  return "\"" + std::string(inside_) + "." + quoted.substr(1);
}

void ConfigValues::Fail(const std::string& text) {
  valid_ = false;
  sink_.Add(field_, text);
}

void ConfigValues::NotYet(const std::string& what) { Fail(std::string(kNotYet) + what); }

const Json* ConfigValues::Find(std::string_view key) {
  if (key.empty()) return nullptr;
  read_.insert(std::string(key));
  const Json* given = In(config_, key);
  for (const std::string_view other : AliasesOf(key)) {
    const Json* alias = In(config_, other);
    if (alias == nullptr) continue;
    read_.insert(std::string(other));
    if (given != nullptr && *given != *alias)
      Fail(Shown(key) + " and " + Shown(other) + " mean the same and must not differ");
    if (given == nullptr) given = alias;
  }
  if (given != nullptr) return given;
  return SaysNone(key) ? nullptr : In(defaults_, key);
}

bool ConfigValues::SaysNone(std::string_view key) const {
  const auto at = config_.find(std::string(key));
  return at != config_.end() && at->is_null() && NullMeansNone(key);
}

int64_t ConfigValues::Number(std::string_view key, const Json& value, IntRange range) {
  const bool whole = value.is_number_integer() &&
                     !(value.is_number_unsigned() && value.get<uint64_t>() > (1ULL << 62));
  const int64_t number = whole ? value.get<int64_t>() : 0;
  if (whole && number >= range.min && number <= range.max) return number;
  Fail(Shown(key) + " must be a whole number from " + std::to_string(range.min) + " to " +
       std::to_string(range.max) + ", but is " + Dump(value));
  return range.min;
}

int64_t ConfigValues::Required(std::string_view key, IntRange range) {
  const Json* value = Find(key);
  if (value != nullptr) return Number(key, *value, range);
  Fail("lacks " + Shown(key) + ", which " + std::string(model_type_) + " needs");
  return range.min;
}

int64_t ConfigValues::Or(std::string_view key, IntRange range, int64_t fallback) {
  const Json* value = Find(key);
  return value == nullptr ? fallback : Number(key, *value, range);
}

bool ConfigValues::Flag(const ConfigFlag& flag) {
  if (flag.key.empty()) return flag.fixed;
  const Json* value = Find(flag.key);
  if (value == nullptr) return flag.fixed && !SaysNone(flag.key);
  if (value->is_boolean()) return value->get<bool>();
  Fail(Shown(flag.key) + " must be true or false");
  return false;
}

std::optional<std::vector<int64_t>> ConfigValues::Numbers(std::string_view key, IntRange range) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<int64_t> list;
  if (!value->is_array() || value->size() > kMaxList) {
    Fail(Shown(key) + " must be a list of at most " + std::to_string(kMaxList) + " numbers");
    return list;
  }
  for (const Json& element : *value) list.push_back(Number(key, element, range));
  return list;
}

std::optional<std::vector<std::string>> ConfigValues::Texts(std::string_view key, int64_t count) {
  const Json* value = Find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> list;
  if (!value->is_array() || static_cast<int64_t>(value->size()) != count) {
    Fail(Shown(key) + " must be a list with one entry per layer (" + std::to_string(count) + ")");
    return list;
  }
  for (const Json& element : *value)
    list.push_back(element.is_string() ? element.get<std::string>() : Dump(element));
  return list;
}

bool ConfigValues::IsNull(std::string_view key) {
  const std::string name(key);
  const auto given = config_.find(name), fallback = defaults_.find(name);
  const bool null = given != config_.end() ? given->is_null()
                                           : fallback != defaults_.end() && fallback->is_null();
  if (null) read_.insert(name);
  return null;
}

bool ConfigValues::IsAuto(std::string_view key) {
  const Json* value = Find(key);
  return value == nullptr || *value == Json("auto");
}

void ConfigValues::RefuseUnknownKeys(const std::vector<std::string_view>& unread) {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : config_.items()) {
    const bool empty = value.is_null() || (value.is_structured() && value.empty());
    if (empty || value == Json(false) || value == Json(0) || read_.count(key) > 0 ||
        !MayChangeShapes(InnermostOf(key)) ||
        std::find(unread.begin(), unread.end(), key) != unread.end())
      continue;
    if (key == "moe_layer_freq" && value == Json(1)) continue;
    unknown.push_back(Shown(key));
  }
  if (unknown.empty()) return;
  const size_t count = unknown.size();
  if (count > kUnknownShown) unknown.resize(kUnknownShown);
  const std::string more =
      count > kUnknownShown ? " and " + std::to_string(count - kUnknownShown) + " more" : "";
  Fail("has keys that " + std::string(model_type_) +
       " does not read and that may change the model's shape: " + absl::StrJoin(unknown, ", ") +
       more + "; remove them if they do not");
}

}  // namespace evenkeel::server
