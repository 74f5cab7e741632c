// The whole command line, apart from the process around it.
#ifndef EVENKEEL_CLIENT_CLI_APP_H_
#define EVENKEEL_CLIENT_CLI_APP_H_

#include <string>
#include <vector>

namespace evenkeel::cli {

// `arguments` with the program's name first. Prints to standard output and error; returns what the
// process should return (exit_codes.h).
int RunApp(const std::vector<std::string>& arguments);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_APP_H_
