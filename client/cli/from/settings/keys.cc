#include "client/cli/from/settings/keys.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_replace.h>
#include <algorithm>
#include <utility>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

bool Matches(const std::string& pattern, const std::string& name) {
  if (!absl::EndsWith(pattern, "*")) return pattern == name;
  return absl::StartsWith(name, pattern.substr(0, pattern.size() - 1));
}

bool IsSameNumberOrWord(const std::string& a, const std::string& b) {
  double left = 0, right = 0;
  return a == b || (absl::SimpleAtod(a, &left) && absl::SimpleAtod(b, &right) && left == right);
}

// A switch that is written as off, which YAML and JSON allow, asks for nothing. Nor does a number
// of 0 or -1, unless it is an index.
bool IsOff(const NotPredicted& known, const Setting& setting) {
  if (setting.values.size() != 1) return false;
  const std::string text = absl::AsciiStrToLower(setting.values.front());
  if (known.usual != nullptr && IsSameNumberOrWord(text, known.usual)) return true;
  if (text == "false" || text == "none" || text == "no") return true;
  return !known.is_index && (text == "0" || text == "0.0" || text == "-1");
}

}  // namespace

std::string MegatronKey(const std::string& key) {
  std::string name = key.substr(key.find_last_of('.') + 1);
  while (!name.empty() && name.front() == '-') name.erase(0, 1);
  return absl::StrReplaceAll(name, {{"_", "-"}});
}

bool Knows(const KeyTables& tables, const std::string& name) {
  const auto has = [&](const auto& record) { return Matches(record.key, name); };
  return std::any_of(tables.read.begin(), tables.read.end(), has) ||
         std::any_of(tables.not_predicted.begin(), tables.not_predicted.end(), has) ||
         std::any_of(tables.irrelevant.begin(), tables.irrelevant.end(),
                     [&](const char* pattern) { return Matches(pattern, name); });
}

void Sort(const KeyTables& tables, const std::string& name, Setting setting, UserConfig* config) {
  Setting shown = setting.AsWritten();
  for (const KeyRecord& record : tables.read) {
    if (name != record.key) continue;
    config->used.push_back(std::move(shown));
    config->meanings.push_back(record.meaning);
    config->fields[record.field] = std::move(setting);
    return;
  }
  for (const NotPredicted& known : tables.not_predicted) {
    if (!Matches(known.key, name)) continue;
    if (IsOff(known, setting)) {
      ++config->irrelevant;
      return;
    }
    if (known.refused)
      throw CommandError(ExitCode::kBadInput, Describe(setting) + ": not yet: " + known.what);
    config->not_predicted.emplace_back(std::move(shown), known.what);
    if (known.field) config->fields[*known.field] = std::move(setting);
    return;
  }
  for (const char* pattern : tables.irrelevant) {
    if (!Matches(pattern, name)) continue;
    ++config->irrelevant;
    return;
  }
  config->unknown.push_back(std::move(shown));
}

}  // namespace evenkeel::cli
