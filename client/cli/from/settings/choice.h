// Names in a configuration, and what they stand for.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SETTINGS_CHOICE_H_
#define EVENKEEL_CLIENT_CLI_FROM_SETTINGS_CHOICE_H_

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <cstddef>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

template <typename Value>
struct Choice {
  const char* name;
  Value value;
};

// Returns what the setting's name stands for, in any case. Refuses other names.
template <typename Value, size_t N>
Value Chosen(const UserConfig& config, Field field, const std::string& fallback,
             const Choice<Value> (&choices)[N]) {
  const std::string name = config.Text(field, fallback);
  std::vector<const char*> known;
  for (const auto& [text, value] : choices) {
    if (absl::EqualsIgnoreCase(name, text)) return value;
    known.push_back(text);
  }
  config.Refuse(field, "not yet: supported are " + absl::StrJoin(known, ", "));
}

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SETTINGS_CHOICE_H_
