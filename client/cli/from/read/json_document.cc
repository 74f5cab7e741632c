#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxJsonDepth = 32;

std::string JsonText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Appends the leaves of `value`.
void JsonLeaves(const Json& value, const std::string& path, const std::string& name,
                std::vector<Setting>* settings, std::set<std::string>* nulls) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      JsonLeaves(inner, path.empty() ? key : path + "." + key, name, settings, nulls);
  } else if (value.is_array()) {
    Setting setting{.key = path, .where = name};
    for (const Json& item : value) setting.values.push_back(JsonText(item));
    settings->push_back(std::move(setting));
  } else if (!value.is_null()) {
    settings->push_back({path, {JsonText(value)}, name});
  } else if (nulls != nullptr) {
    nulls->insert(path);
  }
}

}  // namespace

std::vector<Setting> ReadJson(const std::string& text, const std::string& name,
                              std::set<std::string>* nulls) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::string twice;
  const auto check = [&](int depth, nlohmann::detail::parse_event_t event, Json& parsed) {
    using Event = nlohmann::detail::parse_event_t;
    if (depth > kMaxJsonDepth)
      throw CommandError(ExitCode::kBadInput, name + ": it is nested too deep");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end && !keys.empty()) keys.pop_back();
    if (event == Event::key && !keys.empty() &&
        !keys.back().insert(parsed.get<std::string>()).second && twice.empty())
      twice = parsed.get<std::string>();
    return true;
  };
  std::vector<Setting> settings;
  try {
    const Json document = Json::parse(text, check);
    if (!twice.empty())
      throw CommandError(ExitCode::kBadInput, name + ": the key " + twice + " occurs twice");
    if (!document.is_object())
      throw CommandError(ExitCode::kBadInput,
                         name + ": a configuration is an object of keys, not a list or a word");
    JsonLeaves(document, "", name, &settings, nulls);
  } catch (const Json::exception& error) {
    throw CommandError(ExitCode::kBadInput, fmt::format("{}: {}", name, error.what()));
  }
  return settings;
}

}  // namespace evenkeel::cli
