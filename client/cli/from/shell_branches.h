// Which branches of a shell's script run, as far as the script itself says so.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_BRANCHES_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_BRANCHES_H_

#include <optional>
#include <vector>

#include "client/cli/from/shell_words.h"

namespace evenkeel::cli {

// Returns whether a test ("[ 2 -gt 1 ]", "[[ a == a ]]", "test -z ''") is true, or nothing if that
// is not known: words hold variables or patterns, or the test is of files or of several parts.
std::optional<bool> TestResult(const std::vector<ShellWord>& words, size_t first);

// What joins a command to the next one.
enum class Joint { kNone, kAnd, kOr };

// Follows "if", "elif", "else" and "fi", and tests before "&&" and "||". All branches of an "if"
// whose condition is not known count as run.
class ShellBranches {
 public:
  // Returns whether the commands that are read now count.
  bool Runs() const;

  // A command has ended. It has no words if it was only an assignment.
  void EndCommand(const std::vector<ShellWord>& words, Joint joint);
  void Else();

  // Returns whether the next command may or may not run, after "&&" or "||".
  bool conditional() const { return conditional_; }
  // Returns whether some "if" was not decided.
  bool undecided() const { return undecided_; }

 private:
  struct Branch {
    bool outer = true;    // what is around it runs
    bool decided = true;  // false: all of its branches run
    bool taken = false;   // one of them has run
    bool runs = true;     // the present one does
  };

  void Enter(std::optional<bool> condition, Branch* branch);
  void Join(const std::vector<ShellWord>& words, Joint joint);

  std::vector<Branch> branches_;
  std::optional<bool> status_;  // of the last command of a list that "&&" and "||" join
  bool skips_ = false;          // the next command of the list
  bool conditional_ = false, undecided_ = false;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_BRANCHES_H_
