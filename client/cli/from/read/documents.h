// Reads YAML, JSON and TOML into flat settings: "zero_optimization.stage" 1.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_DOCUMENTS_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_DOCUMENTS_H_

#include <set>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Return the leaves of a document in order, each with the names of the sections that it is in,
// joined by dots. A list is a setting with several values; a list in it is one value, "[1,26,3]".
// Values that are null are left out; `nulls`, if given, gets their keys. Throw
// CommandError(kBadInput) with file, line and reason if the text does not parse, is nested too
// deep, has a key twice, or, in YAML, uses aliases.
std::vector<Setting> ReadYaml(const std::string& text, const std::string& name,
                              std::set<std::string>* nulls = nullptr);
std::vector<Setting> ReadJson(const std::string& text, const std::string& name,
                              std::set<std::string>* nulls = nullptr);
// Reads JSON that is a part of another file. All settings have its place.
std::vector<Setting> ReadJsonPart(const std::string& text, const std::string& place);
std::vector<Setting> ReadToml(const std::string& text, const std::string& name);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_DOCUMENTS_H_
