#include "client/cli/from/shell.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <algorithm>
#include <optional>
#include <utility>

#include "client/cli/base/exit_codes.h"
#include "client/cli/from/shell_branches.h"
#include "client/cli/from/shell_sum.h"
#include "client/cli/from/shell_words.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMaxExpanded = size_t{4} << 20;  // characters of all words together
constexpr int kMaxDepth = 16;                     // of "${A:-${B:-...}}"
constexpr int kMaxScripts = 8;                    // that are arguments of one another

bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Returns whether the text is "${1}" or another argument that a script may be given.
bool IsArgumentOfScript(const std::string& text) {
  return text.size() > 3 && absl::StartsWith(text, "${") && text.back() == '}' &&
         std::all_of(text.begin() + 2, text.end() - 1, absl::ascii_isdigit);
}

// What a script and the scripts in its words share.
struct ScriptState {
  ShellScript script;
  std::map<std::string, std::vector<std::string>> variables;
  size_t expanded = 0;
};

class Reader {
 public:
  // `line` is that of the first character. If `fixed`, all of the text stands there.
  Reader(const std::string& text, const std::string& name, ScriptState* state, int line = 1,
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

  void Append(std::string_view text) {
    if (!in_word_) word_line_ = line_;
    in_word_ = true;
    word_ += text;
    expanded_ += text.size() + 1;
    if (expanded_ > kMaxExpanded) Fail("its variables grow without bound");
  }

  void Next() {
    const char c = Peek();
    if (c == '\\') {
      Take();
      if (at_ == text_.size()) return;
      const char next = Take();
      if (next == '\r' && Peek() == '\n') {
        Take();
      } else if (next != '\n') {
        Append(std::string(1, next));
      }
    } else if (c == '\n') {
      EndCommand();
      Take();
      ReadHeredocs();
    } else if (absl::ascii_isspace(c)) {
      EndWord();
      Take();
    } else if (c == '#' && !in_word_) {
      while (at_ < text_.size() && Peek() != '\n') Take();
    } else if (c == ';' || c == '|' || c == '&' || (c == ')' && !array_)) {
      const bool joins = (c == '&' || c == '|') && Peek(1) == c;
      EndCommand(!joins ? Joint::kNone : c == '&' ? Joint::kAnd : Joint::kOr);
      Take();
      if (joins) Take();
    } else if (c == '<' || c == '>') {
      Redirect();
    } else if (c == '(') {
      Take();
      if (in_word_ && absl::EndsWith(word_, "=") && IsAssignment(word_)) {
        array_ = true;
        array_name_ = std::exchange(word_, "");
        in_word_ = false;
        elements_.clear();
      } else {
        EndCommand();
      }
    } else if (c == ')') {
      EndWord();
      Take();
      Assign(array_name_.substr(0, array_name_.size() - 1), std::move(elements_));
      array_ = false;
    } else {
      Part(/*quoted=*/false);
    }
  }

  // Takes a quote, a variable or a character.
  void Part(bool quoted) {
    const char c = Peek();
    if (c == '\'' && !quoted) {
      SingleQuotes();
    } else if (c == '"') {
      DoubleQuotes();
    } else if (c == '$') {
      Variable(quoted, 0);
    } else if (c == '`') {
      Take();
      std::string command = "`";
      while (at_ < text_.size() && Peek() != '`') command += Take();
      if (at_ < text_.size()) Take();
      Append(command + "`");
    } else {
      Append(std::string(1, Take()));
    }
  }

  void SingleQuotes() {
    Take();
    Append("");
    std::string inside;
    while (Peek() != '\'') {
      if (at_ == text_.size()) Fail("a quote ' is not closed");
      inside += Take();
    }
    Take();
    Append(inside);
  }

  void DoubleQuotes() {
    Take();
    Append("");
    while (Peek() != '"') {
      if (at_ == text_.size()) Fail("a quote \" is not closed");
      if (Peek() == '\\' && std::string("\"\\$`\n").find(Peek(1)) != std::string::npos) {
        Take();
        const char c = at_ < text_.size() ? Take() : '\\';
        if (c != '\n') Append(std::string(1, c));
      } else {
        Part(/*quoted=*/true);
      }
    }
    Take();
  }

  // Returns the text between here and the bracket that closes the one just taken.
  std::string Bracketed(char open, char close) {
    std::string inside;
    for (int depth = 1;;) {
      if (at_ == text_.size()) Fail(fmt::format("a bracket {} is not closed", open));
      const char c = Take();
      if (c == open) ++depth;
      if (c == close && --depth == 0) return inside;
      inside += c;
    }
  }

  void Variable(bool quoted, int depth) {
    Take();
    if (Peek() == '(') {
      Take();
      const std::string inside = Bracketed('(', ')');
      const bool sum = inside.size() > 1 && inside.front() == '(' && inside.back() == ')';
      const std::optional<int64_t> value =
          sum ? ShellSum(inside.substr(1, inside.size() - 2),
                         [&](const std::string& name) { return Scalar(name); })
              : std::nullopt;
      Append(value ? std::to_string(*value) : "$(" + inside + ")");
    } else if (Peek() == '{') {
      Take();
      Expand(Bracketed('{', '}'), quoted, depth);
    } else {
      std::string name;
      while (IsNameChar(Peek()) && (name.empty() || !absl::ascii_isdigit(name[0]))) name += Take();
      if (name.empty() && std::string("@*#?!$-").find(Peek()) != std::string::npos &&
          Peek() != '\0')
        name = std::string(1, Take());
      Expand(name, quoted, depth);
    }
  }

  std::string Scalar(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() || found->second.empty() ? "" : found->second.front();
  }

  // Puts in what stands between the braces of "${...}".
  void Expand(const std::string& inside, bool quoted, int depth) {
    size_t end = 0;
    while (end < inside.size() && IsNameChar(inside[end])) ++end;
    const std::string name = inside.substr(0, end);
    std::string rest = inside.substr(end);
    const bool all = rest == "[@]" || rest == "[*]";
    const auto found = variables_.find(name);
    const bool set = found != variables_.end();
    if (set && (all || rest.empty()))
      return PutIn(found->second, all, quoted, /*joined=*/quoted && rest == "[*]");
    // With a colon, an empty variable is as one that is not set.
    const bool colon = !rest.empty() && rest[0] == ':';
    const std::string sign = rest.substr(colon ? 1 : 0, 1);
    const std::string word = rest.substr(std::min(rest.size(), size_t{colon ? 2u : 1u}));
    const bool filled = set && !(colon && Scalar(name).empty());
    if (!name.empty() && (sign == "-" || sign == "=" || sign == "+" || sign == "?")) {
      if (!set && sign == "+") script_.unset.insert(name);
      if (filled && sign != "+") return PutIn(variables_.at(name), false, quoted);
      if (!filled && sign == "+") return quoted ? Append("") : void();
      if (sign != "?") {
        if (depth >= kMaxDepth) Fail("defaults of variables are nested too deep");
        return sign == "=" ? AssignDefault(name, word, quoted, depth)
                           : Default(word, quoted, depth);
      }
    }
    if (!set && !name.empty() && name != "@" && name != "*") script_.unset.insert(name);
    if (name.empty() && inside.empty()) return Append("$");
    if (quoted || in_word_) return Append("${" + inside + "}");
    Append("${" + inside + "}");
  }

  // "${NAME:=text}" sets the variable, too.
  void AssignDefault(const std::string& name, const std::string& text, bool quoted, int depth) {
    std::string before = std::exchange(word_, "");
    const bool inside = std::exchange(in_word_, false);
    Default(text, /*quoted=*/true, depth);
    const std::string value = std::exchange(word_, std::move(before));
    in_word_ = inside;
    variables_[name] = {value};
    PutIn({value}, false, quoted);
  }

  // Puts in the text of a default, which may have variables and quotes of its own. What it has no
  // quotes around is split into words, as a value is.
  void Default(const std::string& text, bool quoted, int depth) {
    char quote = '\0';
    for (size_t i = 0; i < text.size();) {
      const bool whole = quoted || quote != '\0' || InAssignment();
      if (text[i] == '"' || text[i] == '\'') {
        if (quote == '\0' || quote == text[i]) {
          quote = quote == '\0' ? text[i] : '\0';
        } else {
          Append(text.substr(i, 1));
        }
        ++i;
      } else if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{') {
        size_t close = i + 2;
        for (int open = 1; close < text.size(); ++close) {
          open += text[close] == '{' ? 1 : text[close] == '}' ? -1 : 0;
          if (open == 0) break;
        }
        Expand(text.substr(i + 2, close - i - 2), whole, depth + 1);
        i = close + 1;
      } else if (text[i] == '$') {
        size_t end = i + 1;
        while (end < text.size() && IsNameChar(text[end])) ++end;
        Expand(text.substr(i + 1, end - i - 1), whole, depth + 1);
        i = end;
      } else if (!whole && absl::ascii_isspace(text[i])) {
        EndWord();
        ++i;
      } else {
        Append(text.substr(i++, 1));
      }
    }
    if (text.empty() && quoted) Append("");
  }

  // Returns whether the word so far is an assignment, in which a shell splits no words.
  bool InAssignment() const {
    return command_.empty() && !array_ && in_word_ && IsAssignment(word_);
  }

  // With `all`, each value is a word of its own, unless `joined`.
  void PutIn(const std::vector<std::string>& values, bool all, bool quoted, bool joined = false) {
    const bool assigned = InAssignment();
    if (all && (assigned || joined)) return Append(absl::StrJoin(values, " "));
    quoted = quoted || assigned;
    if (!all && quoted) return Append(values.empty() ? "" : values.front());
    const size_t count = all ? values.size() : std::min<size_t>(1, values.size());
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) EndWord();
      if (quoted) {
        Append(values[i]);
        continue;
      }
      const std::vector<std::string> words =
          absl::StrSplit(values[i], absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
      for (size_t j = 0; j < words.size(); ++j) {
        if (j > 0) EndWord();
        Append(words[j]);
      }
    }
  }

  static bool IsAssignment(const std::string& word) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || absl::ascii_isdigit(word[0])) return false;
    const size_t end = word[equals - 1] == '+' ? equals - 1 : equals;
    for (size_t i = 0; i < end; ++i)
      if (!IsNameChar(word[i])) return false;
    return end > 0;
  }

  // `name` ends with '+' if the values are added.
  void Assign(std::string name, std::vector<std::string> values) {
    const bool adds = absl::EndsWith(name, "+");
    if (adds) name.pop_back();
    if (!branches_.Runs()) return;
    if (branches_.conditional()) script_.branches = true;
    std::vector<std::string>& variable = variables_[name];
    // Nobody gives the script arguments, so a loop over them does not run.
    const bool argument = values.size() == 1 && IsArgumentOfScript(values.front());
    if (argument && !adds && !variable.empty()) return;
    if (!adds) variable.clear();
    if (adds && !array_ && !variable.empty() && values.size() == 1) {
      variable.front() += values.front();
    } else {
      variable.insert(variable.end(), values.begin(), values.end());
    }
    for (const std::string& value : variable) expanded_ += value.size();
    if (expanded_ > kMaxExpanded) Fail("its variables grow without bound");
  }

  void EndWord() {
    if (!in_word_) return;
    in_word_ = false;
    std::string word = std::exchange(word_, "");
    if (redirected_) {
      redirected_ = false;
      target_ = word;
    } else if (array_) {
      elements_.push_back(std::move(word));
    } else if (command_.empty() && IsAssignment(word)) {
      const size_t equals = word.find('=');
      Assign(word.substr(0, equals), {word.substr(equals + 1)});
    } else if (command_.empty() && IsPrefix(word)) {
      if (word == "else") branches_.Else();
    } else {
      if (command_.empty() && IsLoop(word)) script_.branches = true;
      if (TakesScript(command_)) ReadInside(word, word_line_, line_ == word_line_);
      command_.push_back({std::move(word), word_line_});
    }
  }

  void EndCommand(Joint joint = Joint::kNone) {
    EndWord();
    if (array_) return;  // lines of an array are one command
    std::vector<ShellWord> command = std::exchange(command_, {});
    const bool runs = branches_.Runs();
    branches_.EndCommand(command, joint);
    script_.branches = script_.branches || branches_.undecided();
    if (!runs) {
      command.clear();
    } else if (!command.empty() && command.front().text == "eval") {
      std::string joined;
      for (size_t i = 1; i < command.size(); ++i) joined += command[i].text + " ";
      ReadInside(joined, command.front().line, /*fixed=*/true);
    } else if (!command.empty()) {
      script_.commands.push_back(std::move(command));
    }
    if (heredocs_.empty()) target_.clear();
  }

  // Reads a script that is a word or the input of a command. Its variables are those of the script
  // around it.
  void ReadInside(const std::string& text, int line, bool fixed) {
    if (!branches_.Runs()) return;
    if (depth_ >= kMaxScripts) Fail("scripts in arguments are nested too deep");
    expanded_ += text.size();
    if (expanded_ > kMaxExpanded) Fail("its variables grow without bound");
    Reader(text, name_, state_, line, fixed, depth_ + 1).Run();
  }

  void Redirect() {
    // A number before the sign is a stream: "2>&1".
    if (in_word_ && absl::ascii_isdigit(word_[0]) && word_.size() == 1)
      word_.clear(), in_word_ = false;
    EndWord();
    const char sign = Take();
    if (sign == '<' && Peek() == '<' && Peek(1) != '<') {
      Take();
      Heredoc heredoc{.skipped = !branches_.Runs()};
      if (Peek() == '-') heredoc.tabs = true, Take();
      while (Peek() == ' ') Take();
      while (at_ < text_.size() && !absl::ascii_isspace(Peek()) && Peek() != ';' && Peek() != '>') {
        const char c = Take();
        if (c != '\'' && c != '"' && c != '\\')
          heredoc.mark += c;
        else
          heredoc.quoted = true;
      }
      heredocs_.push_back(heredoc);
      return;
    }
    while (Peek() == sign || Peek() == '&') Take();
    redirected_ = true;
  }

  void ReadHeredocs() {
    for (const Heredoc& heredoc : heredocs_) {
      ShellFile file{.name = target_, .line = line_};
      while (at_ < text_.size()) {
        std::string row;
        while (at_ < text_.size() && Peek() != '\n') row += Take();
        if (at_ < text_.size()) Take();
        if ((heredoc.tabs ? std::string(absl::StripLeadingAsciiWhitespace(row)) : row) ==
            heredoc.mark)
          break;
        file.text += row + "\n";
      }
      if (heredoc.skipped) continue;
      if (target_.empty() && !script_.commands.empty() && RunsItsInput(script_.commands.back()))
        ReadInside(heredoc.quoted ? file.text
                                  : absl::StrReplaceAll(
                                        file.text, {{"\\$", "$"}, {"\\`", "`"}, {"\\\\", "\\"}}),
                   file.line, fixed_line_);
      script_.files.push_back(std::move(file));
    }
    if (!heredocs_.empty()) target_.clear();
    heredocs_.clear();
  }

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
  ShellBranches branches_;
  std::string array_name_, target_;
  std::vector<std::string> elements_;
  std::vector<Heredoc> heredocs_;
  ShellScript& script_;
  std::map<std::string, std::vector<std::string>>& variables_;
  size_t& expanded_;
  ScriptState* const state_;
};

}  // namespace

ShellScript ReadShell(const std::string& text, const std::string& name,
                      const Environment& environment) {
  ScriptState state;
  state.script.slurm = ReadSlurmRequest(text, name);
  for (const auto& [variable, value] : state.script.slurm.Variables())
    state.variables[variable] = {value};
  for (const auto& [variable, value] : environment) {
    if (!absl::StrContains(text, variable))
      throw CommandError(ExitCode::kBadInput,
                         fmt::format("--env {}: {} has no variable of this name", variable, name));
    state.variables[variable] = {value};
  }
  Reader(text, name, &state).Run();
  return std::move(state.script);
}

}  // namespace evenkeel::cli
