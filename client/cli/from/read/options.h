// Options of a command line.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_OPTIONS_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_OPTIONS_H_

#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"
#include "client/cli/from/shell/shell.h"

namespace evenkeel::cli {

// Returns whether a word is "--name".
bool IsOption(const std::string& word);

// Returns whether a word is the file of a Python program.
bool IsProgram(const std::string& word);

// Returns whether a command only prints its words, as scripts do with the command that they run.
bool Prints(const std::vector<ShellWord>& words);

// Returns the options of the words from..to with their values. `name` is the script's.
std::vector<Setting> OptionsOf(const std::vector<ShellWord>& words, size_t from, size_t to,
                               const std::string& name);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_OPTIONS_H_
