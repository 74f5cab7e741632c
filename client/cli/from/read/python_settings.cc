#include "client/cli/from/read/python_settings.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <map>

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

}  // namespace evenkeel::cli
