// Finds out which branches of a shell script run, as far as the script itself decides it.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_BRANCHES_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_BRANCHES_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/from/shell/words.h"

namespace evenkeel::cli {

// What joins a command to the next one.
enum class Joint { kNone, kAnd, kOr };

// Follows "if", "case", loops, and tests before "&&" and "||". All branches of an "if" or a "case"
// that is not decided count as run, and so do the commands of a loop unless it is known not to
// begin.
class ShellBranches {
 public:
  // Returns whether the commands that are read now count.
  bool Runs() const;

  // A command has ended. It has no words if it was only an assignment.
  void EndCommand(const std::vector<ShellWord>& words, Joint joint);
  void Else();

  // Begins a group in "{ }", whose commands run together or not at all.
  void BeginGroup();

  // "case WORD in", the patterns of one branch, ";;" and "esac".
  void BeginCase(const std::string& word);
  void BeginBranch(const std::vector<std::string>& patterns);
  void EndBranch();
  void EndCase() { Leave(Kind::kCase); }
  // Returns whether the next text is the patterns of a branch, or "esac".
  bool expects_patterns() const;
  bool in_case() const { return !branches_.empty() && branches_.back().kind == Kind::kCase; }

  // Returns whether the next command may or may not run, after "&&" or "||".
  bool conditional() const { return conditional_; }
  // Returns whether the next command may run several times, or later: in a loop, or in braces,
  // which a function has too.
  bool repeats() const;
  // Returns whether something was not decided, or a loop was read once.
  bool undecided() const { return undecided_; }

 private:
  enum class Kind { kIf, kLoop, kCase, kGroup };
  struct Branch {
    Kind kind = Kind::kIf;
    bool outer = true;    // what is around it runs
    bool decided = true;  // false: all of its branches run
    bool taken = false;   // one of them has run
    bool runs = true;     // the present one does
    bool waits = false;   // a "case" between its branches
    std::string word;     // of a "case"
  };
  // The commands after "if", "elif", "while" or "until", up to the last one.
  struct Condition {
    std::optional<bool> value;
    Joint joint = Joint::kNone;  // before the next command
    bool negated = false;        // "until"
  };

  void AddToCondition(const std::vector<ShellWord>& words, size_t first, Joint joint);
  void Enter(std::optional<bool> condition, Branch* branch);
  void Join(const std::vector<ShellWord>& words, Joint joint);
  void Leave(Kind kind);

  std::vector<Branch> branches_;
  std::optional<Condition> condition_;
  std::optional<bool> status_;  // of the last command of a list that "&&" and "||" join
  bool skips_ = false;          // the next command of the list
  bool conditional_ = false, undecided_ = false;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_BRANCHES_H_
