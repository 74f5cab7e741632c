// Makes command lines to suggest to the user: the given one with a change.
#ifndef EVENKEEL_CLIENT_CLI_BASE_COMMAND_LINE_H_
#define EVENKEEL_CLIENT_CLI_BASE_COMMAND_LINE_H_

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::cli {

// Quotes `text` as one word of a POSIX shell, if it must be quoted.
std::string Quoted(const std::string& text);

class CommandLine {
 public:
  // The first of `arguments` is the program's name.
  explicit CommandLine(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}

  bool Has(const std::string& flag) const;
  // Returns the value of a flag, or "".
  std::string ValueOf(const std::string& flag) const;

  // Return this command line with `flag` set to `value` (replaced in its place, or added at the
  // end), or without `flag`.
  CommandLine With(const std::string& flag, const std::string& value) const;
  CommandLine Without(const std::string& flag) const;
  // Returns this command line with `flag`, which takes no value.
  CommandLine With(const std::string& flag) const;

  // Returns the text for a POSIX shell.
  std::string Text() const;

 private:
  std::vector<std::string> arguments_;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_COMMAND_LINE_H_
