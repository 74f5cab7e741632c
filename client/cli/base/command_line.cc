#include "client/cli/base/command_line.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>

namespace evenkeel::cli {
namespace {

bool IsFlag(const std::string& argument, const std::string& flag) {
  return argument == flag || argument.compare(0, flag.size() + 1, flag + "=") == 0;
}

}  // namespace

std::string Quoted(const std::string& text) {
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./:,=+@%", c);
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

bool CommandLine::Has(const std::string& flag) const {
  return std::any_of(arguments_.begin(), arguments_.end(),
                     [&](const std::string& argument) { return IsFlag(argument, flag); });
}

std::string CommandLine::ValueOf(const std::string& flag) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!IsFlag(arguments_[i], flag)) continue;
    if (arguments_[i] != flag) return arguments_[i].substr(flag.size() + 1);
    return i + 1 < arguments_.size() ? arguments_[i + 1] : "";
  }
  return "";
}

CommandLine CommandLine::With(const std::string& flag, const std::string& value) const {
  std::vector<std::string> changed;
  bool done = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!IsFlag(arguments_[i], flag)) {
      changed.push_back(arguments_[i]);
      continue;
    }
    if (arguments_[i] == flag) ++i;  // its value
    if (done) continue;
    changed.push_back(flag);
    changed.push_back(value);
    done = true;
  }
  if (!done) {
    changed.push_back(flag);
    changed.push_back(value);
  }
  return CommandLine(std::move(changed));
}

CommandLine CommandLine::With(const std::string& flag) const {
  CommandLine changed = *this;
  if (!Has(flag)) changed.arguments_.push_back(flag);
  return changed;
}

CommandLine CommandLine::Without(const std::string& flag) const {
  std::vector<std::string> changed;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!IsFlag(arguments_[i], flag)) {
      changed.push_back(arguments_[i]);
    } else if (arguments_[i] == flag) {
      ++i;
    }
  }
  return CommandLine(std::move(changed));
}

std::string CommandLine::Text() const {
  return absl::StrJoin(arguments_, " ", [](std::string* text, const std::string& argument) {
    text->append(Quoted(argument));
  });
}

}  // namespace evenkeel::cli
