#include "client/cli/base/command_line.h"

#include <algorithm>
#include <cctype>

namespace evenkeel::cli {
namespace {

bool IsFlag(const std::string& argument, const std::string& flag) {
  return argument == flag || argument.compare(0, flag.size() + 1, flag + "=") == 0;
}

std::string Quoted(const std::string& argument) {
  const bool safe = !argument.empty() && std::all_of(argument.begin(), argument.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string("-_./:,=+@%").find(c) != std::string::npos;
  });
  if (safe) return argument;
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

bool CommandLine::Has(const std::string& flag) const {
  return std::any_of(arguments_.begin(), arguments_.end(),
                     [&](const std::string& argument) { return IsFlag(argument, flag); });
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
  std::string text;
  for (const std::string& argument : arguments_) {
    text += (text.empty() ? "" : " ") + Quoted(argument);
  }
  return text;
}

}  // namespace evenkeel::cli
