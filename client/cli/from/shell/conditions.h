// Tests of a shell: "[ 2 -gt 1 ]", "[[ $A == b* && -n $C ]]".
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_CONDITIONS_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_CONDITIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/from/shell/words.h"

namespace evenkeel::cli {

// Three-valued: nullopt is "not known".
std::optional<bool> Both(std::optional<bool> a, std::optional<bool> b);
std::optional<bool> Either(std::optional<bool> a, std::optional<bool> b);

// Returns whether the text fits a pattern of a shell ("8b", "llama*", "[ab]?"), or nullopt if one
// of them holds variables, or the pattern has more stars than a script of a trainer needs.
std::optional<bool> FitsPattern(const std::string& text, const std::string& pattern);

// Returns whether a command succeeds that is a test, true, false or a sum in double brackets, or
// nullopt if that is not known: its words hold variables, it asks for files, or it is another
// command.
std::optional<bool> TestResult(const std::vector<ShellWord>& words, size_t first);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_CONDITIONS_H_
