// The whole command line, apart from the process around it.
#ifndef EVENKEEL_CLIENT_CLI_APP_H_
#define EVENKEEL_CLIENT_CLI_APP_H_

#include <string>
#include <vector>

namespace evenkeel::cli {

// Runs the command line `arguments`, whose first is the program's name. Prints to standard output
// and error. Returns the exit code of the process (base/command_error.h).
int RunApp(const std::vector<std::string>& arguments);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_APP_H_
