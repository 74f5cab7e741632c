// What a script sets by commands that are not run: "read", "source", "for" and the like.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_SETTERS_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_SETTERS_H_

#include <set>
#include <string>

namespace evenkeel::cli {

struct ShellSetters {
  bool any = false;                // a command may set any variable
  std::set<std::string> names;     // of variables that commands or loops set
  std::set<std::string> assigned;  // of those with an assignment, wherever it stands

  // Returns whether the variable, which no assignment before this place sets, has no value there.
  // `repeats`: the place is in a loop or a function, so what follows may have run before.
  bool LeavesUnset(const std::string& name, bool repeats) const;
};

// Reads the text line by line. Sets rather too many names than too few.
ShellSetters SettersOf(const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_SETTERS_H_
