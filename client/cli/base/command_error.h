// The exit codes of evenkeelctl, and the exception that carries one. Commands throw CommandError
// when they cannot continue. main() prints it to stderr and exits with its code.
#ifndef EVENKEEL_CLIENT_CLI_BASE_COMMAND_ERROR_H_
#define EVENKEEL_CLIENT_CLI_BASE_COMMAND_ERROR_H_

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace evenkeel::cli {

enum class ExitCode {
  kOk = 0,
  kDoesNotFit = 1,   // there is a plan, and it says that the job does not fit
  kNotServing = 1,   // healthcheck: the server does not serve
  kBadInput = 2,     // usage, a file that cannot be read, or a job that is refused
  kUnavailable = 3,  // no server, or one that currently takes no work
  kError = 4,        // anything else: timeout, unknown plan, internal error
};

class CommandError : public std::runtime_error {
 public:
  // `message` is a sentence without the program's name. `details` are printed below it, one per
  // line.
  CommandError(ExitCode code, const std::string& message, std::vector<std::string> details = {})
      : std::runtime_error(message), code_(code), details_(std::move(details)) {}

  ExitCode code() const { return code_; }
  const std::vector<std::string>& details() const { return details_; }

 private:
  ExitCode code_;
  std::vector<std::string> details_;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_COMMAND_ERROR_H_
