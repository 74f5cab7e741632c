// Words of a shell's commands, and what they say about the words after them.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_WORDS_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_WORDS_H_

#include <string>
#include <vector>

namespace evenkeel::cli {

struct ShellWord {
  std::string text;
  int line = 0;
};

// Returns whether a word only precedes a command, such as "then" or "env".
bool IsPrefix(const std::string& word);

// Returns whether a test may stand after this word: "if", "while", "!" and the like.
bool BeginsTest(const std::string& word);

// Returns the name of a program or a file without its folders.
std::string BaseName(const std::string& word);

// Returns whether the next word of a command is a script: after "bash -c", "srun sh -lc" and the
// like.
bool TakesScript(const std::vector<ShellWord>& command);

// Returns whether a command runs its standard input as a script.
bool RunsItsInput(const std::vector<ShellWord>& command);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_WORDS_H_
