#include "client/cli/from/shell/words.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <cstddef>
#include <set>
#include <string>

namespace evenkeel::cli {
namespace {

bool IsShell(const std::string& word) {
  const std::string name = BaseName(word);
  return name == "bash" || name == "sh" || name == "dash" || name == "zsh" || name == "ksh";
}

}  // namespace

bool IsPrefix(const std::string& word) {
  static const std::set<std::string> kPrefixes = {"then",   "do",    "else",    "{",
                                                  "exec",   "time",  "nohup",   "env",
                                                  "export", "local", "declare", "readonly"};
  return kPrefixes.count(word) > 0;
}

bool BeginsTest(const std::string& word) {
  return word == "if" || word == "elif" || word == "while" || word == "until" || word == "!";
}

std::string BaseName(const std::string& word) { return word.substr(word.find_last_of('/') + 1); }

bool TakesScript(const std::vector<ShellWord>& command) {
  if (command.size() < 2) return false;
  const std::string& flag = command.back().text;
  if (flag.size() < 2 || flag.size() > 6 || flag[0] != '-' || flag.back() != 'c') return false;
  for (size_t i = 1; i < flag.size(); ++i)
    if (!absl::ascii_isalpha(flag[i])) return false;
  for (size_t i = command.size() - 1; i-- > 0;) {
    if (IsShell(command[i].text)) return true;
    // Options of the shell may stand between.
    if (!absl::StartsWith(command[i].text, "-") && command[i].text != "pipefail") return false;
  }
  return false;
}

bool RunsItsInput(const std::vector<ShellWord>& command) {
  for (const ShellWord& word : command)
    if (IsShell(word.text) || BaseName(word.text) == "sbatch") return true;
  return false;
}

}  // namespace evenkeel::cli
