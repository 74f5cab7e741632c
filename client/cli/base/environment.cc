#include "client/cli/base/environment.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <algorithm>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {

std::pair<std::string, std::string> VariableOf(const std::string& argument, bool of_script) {
  const size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const bool number =
      name.size() <= 3 && name[0] != '0' &&
      std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isdigit(c); });
  const bool named = !name.empty() && (!absl::ascii_isdigit(name[0]) || (of_script && number)) &&
                     std::all_of(name.begin(), name.end(),
                                 [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  if (equals == std::string::npos || !named)
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("--env: \"{}\" is not NAME=VALUE", argument));
  return {name, argument.substr(equals + 1)};
}

}  // namespace evenkeel::cli
