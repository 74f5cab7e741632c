// Reads the characters of a shell's script: a part of shell.cc.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SHELL_READER_H_
#define EVENKEEL_CLIENT_CLI_FROM_SHELL_READER_H_

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/from/shell/branches.h"
#include "client/cli/from/shell/script.h"
#include "client/cli/from/shell/setters.h"
#include "client/cli/from/shell/sum.h"
#include "client/cli/from/shell/words.h"

namespace evenkeel::cli {

inline bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// What a script and the scripts in its words share.
struct ScriptState {
  ShellScript script;
  std::map<std::string, std::vector<std::string>> variables;
  ShellSetters setters;  // of the whole script
  size_t expanded = 0;
};

class ShellReader {
 public:
  // `line` is that of the first character. If `fixed`, all of the text stands there.
  ShellReader(const std::string& text, const std::string& name, ScriptState* state, int line = 1,
              bool fixed = false, int depth = 0)
      : text_(text),
        name_(name),
        line_(line),
        fixed_line_(fixed),
        depth_(depth),
        script_(state->script),
        variables_(state->variables),
        expanded_(state->expanded),
        state_(state) {}

  void Run() {
    while (at_ < text_.size()) Next();
    EndCommand();
  }

 private:
  struct Heredoc {
    std::string mark;
    bool tabs = false;
    bool quoted = false;  // the shell puts in no variables
    bool skipped = false;
  };

  [[noreturn]] void Fail(const std::string& what) const {
    throw CommandError(ExitCode::kBadInput, fmt::format("{}:{}: {}", name_, line_, what));
  }

  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  char Take() {
    const char c = text_[at_++];
    if (c == '\n' && !fixed_line_) ++line_;
    return c;
  }

  void Append(std::string_view text);
  void Next();

  // Returns whether the command has only words so far that stand before a test.
  bool BeginsCommand() const {
    return std::all_of(command_.begin(), command_.end(),
                       [](const ShellWord& word) { return BeginsTest(word.text); });
  }

  // Returns whether a new line ends no command: after "&&" or "||", and before the "in" of "case".
  bool ContinuesCommand() const {
    if (joined_ && command_.empty() && !in_word_) return true;
    return !command_.empty() && command_.front().text == "case" &&
           command_.size() + (in_word_ ? 1 : 0) == 2;
  }

  // Returns whether the next characters are part of a test in double brackets, where "&&", "||",
  // "<" and brackets end no command.
  bool InDoubleBrackets() const;

  // Returns whether the next word is one of a test, in which a variable that nothing sets is empty.
  // What "=~" is followed by is left open, as an expression that is empty is hardly meant.
  bool InTest() const;

  // Takes a sign of such a test. Returns false if `c` is none. A regular expression may hold signs.
  bool TestSign(char c);

  // Takes "((...))", a command that is true if its sum is not 0.
  void Arithmetic();

  // Takes the patterns of a branch of "case", or "esac".
  void CasePatterns();

  // Takes a quote, a variable or a character.
  void Part(bool quoted);
  void SingleQuotes();
  void DoubleQuotes();

  // Returns the text between here and the bracket that closes the one just taken.
  std::string Bracketed(char open, char close);
  // Returns the value of a sum over the script's variables.
  std::optional<int64_t> SumOf(const std::string& text) const {
    return ShellSum(text, [this](const std::string& name) { return Scalar(name); });
  }
  // Returns the value of "expr 16 / $N".
  std::optional<int64_t> Expression(const std::string& command) const;
  void Variable(bool quoted, int depth);

  // Returns the number of arguments that the script is known to have.
  size_t ArgumentCount() const {
    const auto found = variables_.find("@");
    return found == variables_.end() ? 0 : found->second.size();
  }

  std::string Scalar(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() || found->second.empty() ? "" : found->second.front();
  }

  // Puts in what a test finds in a variable that nothing sets: with quotes an empty word, and
  // without them none. Returns false outside of tests, or if something may set it.
  bool PutInNothing(const std::string& name, bool quoted);

  // Puts in what stands between the braces of "${...}".
  void Expand(const std::string& inside, bool quoted, int depth);

  // "${NAME:=text}" sets the variable, too.
  void AssignDefault(const std::string& name, const std::string& text, bool quoted, int depth);

  // Puts in the text of a default, which may have variables and quotes of its own. What it has no
  // quotes around is split into words, as a value is.
  void Default(const std::string& text, bool quoted, int depth);

  // Returns whether the word so far is an assignment, in which a shell splits no words.
  bool InAssignment() const {
    return command_.empty() && !array_ && in_word_ && IsAssignment(word_);
  }

  // With `all`, each value is a word of its own, unless `joined`.
  void PutIn(const std::vector<std::string>& values, bool all, bool quoted, bool joined = false);

  static bool IsAssignment(const std::string& word);

  // `name` ends with '+' if the values are added.
  void Assign(std::string name, std::vector<std::string> values);
  void EndWord();
  void EndCommand(Joint joint = Joint::kNone);
  void SetArguments(const std::vector<ShellWord>& words);

  // Reads a script that is a word or the input of a command. Its variables are those of the script
  // around it.
  void ReadInside(const std::string& text, int line, bool fixed);
  void Redirect();
  void ReadHeredocs();

  const std::string& text_;
  const std::string& name_;
  size_t at_ = 0;
  int line_;
  const bool fixed_line_;
  const int depth_;
  std::string word_;
  bool in_word_ = false;
  int word_line_ = 1;
  std::vector<ShellWord> command_;
  bool array_ = false, redirected_ = false;
  bool joined_ = false;  // "&&" or "||" stands before the next command
  ShellBranches branches_;
  std::string array_name_, target_;
  std::vector<std::string> elements_;
  std::vector<Heredoc> heredocs_;
  ShellScript& script_;
  std::map<std::string, std::vector<std::string>>& variables_;
  size_t& expanded_;
  ScriptState* const state_;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SHELL_READER_H_
