// What is read of a shell script.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_SCRIPT_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_SCRIPT_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/cli/from/shell/slurm.h"
#include "client/cli/from/shell/words.h"

namespace evenkeel::cli {

// A here-document that was written to a file.
struct ShellFile {
  std::string name, text;
  int line = 0;  // of its first line
};

struct ShellScript {
  std::vector<std::vector<ShellWord>> commands;  // with variables put in
  std::vector<ShellFile> files;
  std::set<std::string> unset;                   // variables that the script uses and does not set
  std::set<std::string> empty_in_tests;          // variables that nothing sets, in tests
  std::map<std::string, std::string> variables;  // at the end, the first value of each
  SlurmRequest slurm;
  // Assignments may not run: an `if`, `case`, `&&` or `||` is not decided, or there is a loop.
  bool branches = false;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_SCRIPT_H_
