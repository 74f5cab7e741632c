#include "client/cli/from/read/python_settings.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <algorithm>
#include <functional>
#include <map>

#include "client/cli/base/command_error.h"
#include "client/cli/from/settings/keys.h"

namespace evenkeel::cli {
namespace {

std::string Unquoted(std::string text) {
  text = std::string(absl::StripAsciiWhitespace(text));
  if (text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

// Splits at the commas that are in no inner bracket.
std::vector<std::string> Items(const std::string& text) {
  std::vector<std::string> items;
  std::string item;
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      items.push_back(Unquoted(item));
      item.clear();
    } else {
      item += c;
    }
  }
  if (!absl::StripAsciiWhitespace(item).empty()) items.push_back(Unquoted(item));
  return items;
}

bool IsPath(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text)
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  return !absl::ascii_isdigit(text.front());
}

[[noreturn]] void FailPython(const Setting& setting, const std::string& why) {
  throw CommandError(ExitCode::kBadInput, Describe(setting) + ": " + why);
}

std::vector<int64_t> ListedNumbers(const Setting& setting) {
  std::vector<int64_t> numbers;
  for (const std::string& text : setting.values) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value < 0 || value > 1000000)
      FailPython(setting, "must be a list of layers");
    numbers.push_back(value);
  }
  return numbers;
}

// Returns where stages begin and end in the list of all layers.
std::vector<int64_t> StageBounds(const Setting& setting) {
  std::vector<int64_t> bounds = ListedNumbers(setting);
  const bool ascend =
      std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) == bounds.end();
  if (bounds.size() < 2 || bounds.front() != 0 || !ascend)
    FailPython(setting,
               "must be two or more numbers that ascend from 0, such as [0, 18, 34]: where each "
               "stage begins in the list of all layers, and where the last one ends");
  return bounds;
}

}  // namespace

std::vector<Setting> ReadPythonSettings(const std::string& text, const std::string& name,
                                        int first_line) {
  std::vector<Setting> settings;
  std::map<std::string, std::string> aliases;
  int number = first_line - 1;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    ++number;
    std::string line(absl::StripAsciiWhitespace(lines[i]));
    const size_t equals = line.find(" = ");
    if (equals == std::string::npos || !IsPath(line.substr(0, equals))) continue;
    std::string target = line.substr(0, equals), value = line.substr(equals + 3);
    if (const size_t comment = value.find("  #"); comment != std::string::npos)
      value.resize(comment);
    const int line_number = number;
    if (value == "[") {
      while (i + 1 < lines.size() && lines[i + 1] != "]") value += lines[++i], ++number;
      value += "]";
    }
    if (absl::StartsWith(value, "config.")) {
      aliases[target] = value.substr(7);
      continue;
    }
    if (const size_t dot = target.find('.'); dot != std::string::npos) {
      const auto alias = aliases.find(target.substr(0, dot));
      if (alias != aliases.end()) target = alias->second + target.substr(dot);
      if (absl::StartsWith(target, "config.")) target = target.substr(7);
    }
    Setting setting{.key = target, .where = fmt::format("{}:{}", name, line_number)};
    if (value.size() > 1 && value.front() == '[' && value.back() == ']') {
      setting.values = Items(value.substr(1, value.size() - 2));
    } else {
      setting.values = {Unquoted(value)};
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

void SortPythonSettings(const std::vector<Setting>& settings, UserConfig* config) {
  for (const Setting& setting : settings) {
    if (setting.key == "PARTS") config->parts = StageBounds(setting);
    if (setting.key == "RECOMPUTED") config->recomputed = ListedNumbers(setting);
    if (setting.key == "LANGUAGE_RECOMPUTED") config->language_recomputed = ListedNumbers(setting);
    if (setting.key == "ENCODER_RECOMPUTED") config->encoder_recomputed = ListedNumbers(setting);
    if (setting.key == "LANGUAGE_ALTERNATE") config->language_alternate = ListedNumbers(setting);
    if (setting.key == "MODULES") {
      for (const std::string& chunk : setting.values) {
        int64_t layers = 0;
        for (size_t at = 0; (at = chunk.find("layers.", at)) != std::string::npos; ++at) ++layers;
        config->chunk_layers.push_back(layers);
      }
    }
    const bool list = setting.key == "PARTS" || setting.key == "MODULES" ||
                      setting.key == "LANGUAGE_ALTERNATE" ||
                      absl::EndsWith(setting.key, "RECOMPUTED");
    config->lists_recomputed =
        config->lists_recomputed || absl::EndsWith(setting.key, "RECOMPUTED");
    if (list) {
      config->used.push_back(
          {setting.key, {fmt::format("{} entries", setting.values.size())}, setting.where});
      config->meanings.push_back("stages.layers");
    } else if (setting.key.find('.') != std::string::npos &&
               !absl::StartsWith(setting.key, "self.") &&
               setting.key != "parallelism.module_fqns_per_model_part") {
      Sort(TorchtitanKeys(), setting.key, setting, config);
    }
  }
}

}  // namespace evenkeel::cli
