// The fault of a command line with a word that no command or option takes.
#ifndef EVENKEEL_CLIENT_CLI_BASE_UNKNOWN_ARGUMENT_H_
#define EVENKEEL_CLIENT_CLI_BASE_UNKNOWN_ARGUMENT_H_

#include <CLI/App.hpp>
#include <string>

namespace evenkeel::cli {

// Names the first such word, and the known words that are most like it. `app` has just thrown
// CLI::ExtrasError.
std::string UnknownArgument(const CLI::App& app);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_UNKNOWN_ARGUMENT_H_
