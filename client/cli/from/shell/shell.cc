#include "client/cli/from/shell/shell.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/shell/reader.h"

namespace evenkeel::cli {
namespace {

// Makes the arguments of the script, which have the names 1, 2, ..., known as $@.
void SetArguments(const Environment& environment, const std::string& name,
                  std::map<std::string, std::vector<std::string>>* variables) {
  size_t given = 0;
  for (const auto& [variable, value] : environment) given += absl::ascii_isdigit(variable[0]);
  for (size_t i = 1; i <= given; ++i) {
    const auto found = environment.find(std::to_string(i));
    if (found == environment.end())
      throw CommandError(
          ExitCode::kBadInput,
          fmt::format("--env: {} arguments of {} are given, but not {}=VALUE", given, name, i));
    (*variables)["@"].push_back(found->second);
  }
}

}  // namespace

ShellScript ReadShell(const std::string& text, const std::string& name,
                      const Environment& environment) {
  ScriptState state;
  state.script.slurm = ReadSlurmRequest(text, name);
  state.setters = SettersOf(text);
  for (const auto& [variable, value] : state.script.slurm.Variables())
    state.variables[variable] = {value};
  for (const auto& [variable, value] : environment) {
    if (!absl::ascii_isdigit(variable[0]) && !absl::StrContains(text, variable))
      throw CommandError(ExitCode::kBadInput,
                         fmt::format("--env {}: {} has no variable of this name", variable, name));
    state.variables[variable] = {value};
  }
  SetArguments(environment, name, &state.variables);
  ShellReader(text, name, &state).Run();
  for (const auto& [variable, values] : state.variables)
    if (!values.empty()) state.script.variables[variable] = values.front();
  return std::move(state.script);
}

}  // namespace evenkeel::cli
