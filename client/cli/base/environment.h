// Variables of a process, as flags give them.
#ifndef EVENKEEL_CLIENT_CLI_BASE_ENVIRONMENT_H_
#define EVENKEEL_CLIENT_CLI_BASE_ENVIRONMENT_H_

#include <map>
#include <string>
#include <utility>

namespace evenkeel::cli {

// Variables that are set before a process runs, by name.
using Environment = std::map<std::string, std::string>;

// Returns name and value of "NAME=VALUE", the argument of --env. Throws CommandError(kBadInput) if
// it is not that. `of_script`: NAME may also be the number of an argument of a script, from 1 on.
std::pair<std::string, std::string> VariableOf(const std::string& argument, bool of_script = false);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_ENVIRONMENT_H_
