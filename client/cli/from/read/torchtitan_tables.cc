#include "client/cli/from/read/torchtitan_tables.h"

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace evenkeel::cli {
namespace {

// Returns whether one of model.converters reads the table of quantisation that the key is in.
bool HasConverter(const std::string& key, const std::vector<std::string>& converters) {
  const bool mx = absl::StartsWith(key, "mx.") || absl::StrContains(key, ".mx.");
  const bool experts = absl::StartsWith(key, "quantize.grouped_mm.");
  return std::any_of(converters.begin(), converters.end(), [&](const std::string& converter) {
    return absl::StrContains(converter, mx ? "mx" : "float8") &&
           (!experts || absl::StrContains(converter, "grouped_mm"));
  });
}

}  // namespace

// torchtitan builds only the converters that model.converters lists
// (torchtitan/protocols/model_converter.py), so that tables of others change nothing.
void DropIdleTables(UserConfig* config) {
  std::vector<std::string> converters;
  for (const std::string& written : config->List(Field::kConverters))
    for (std::string& name : WordsOf(written)) converters.push_back(std::move(name));
  std::set<std::string> tables;
  const auto idle = [&](const Setting& setting) {
    const std::string& key = setting.key;
    const bool quantises = absl::StartsWith(key, "float8.") || absl::StartsWith(key, "mx.") ||
                           absl::StartsWith(key, "quantize.");
    // The switch of releases that had no converters.
    if (!quantises || key == "float8.enable_float8_linear" || HasConverter(key, converters))
      return false;
    tables.insert(key.substr(0, key.find_last_of('.')));
    ++config->irrelevant;
    return true;
  };
  std::erase_if(config->not_predicted, [&](const auto& other) { return idle(other.first); });
  for (size_t i = config->used.size(); i-- > 0;) {
    if (!idle(config->used[i])) continue;
    config->used.erase(config->used.begin() + static_cast<std::ptrdiff_t>(i));
    config->meanings.erase(config->meanings.begin() + static_cast<std::ptrdiff_t>(i));
    config->fields.erase(Field::kFp8Recipe);
  }
  if (!tables.empty())
    config->notes.push_back(
        "Tables without effect, as model.converters names no converter that "
        "reads them: " +
        absl::StrJoin(tables, ", ") + ".");
}

}  // namespace evenkeel::cli
