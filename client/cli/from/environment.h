#ifndef EVENKEEL_CLIENT_CLI_FROM_ENVIRONMENT_H_
#define EVENKEEL_CLIENT_CLI_FROM_ENVIRONMENT_H_

#include <map>
#include <string>

namespace evenkeel::cli {

// Variables that are set before a script runs, by name.
using Environment = std::map<std::string, std::string>;

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_ENVIRONMENT_H_
