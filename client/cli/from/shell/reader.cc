#include "client/cli/from/shell/reader.h"

#include <absl/strings/match.h>
#include <absl/strings/str_replace.h>
#include <cstdint>
#include <optional>
#include <utility>

namespace evenkeel::cli {
namespace {

constexpr size_t kMaxExpanded = size_t{4} << 20;  // characters of all words together
constexpr int kMaxScripts = 8;                    // that are arguments of one another

// Returns whether the text is "${1}" or another argument that a script may be given.
bool IsArgumentOfScript(const std::string& text) {
  return text.size() > 3 && absl::StartsWith(text, "${") && text.back() == '}' &&
         std::all_of(text.begin() + 2, text.end() - 1, absl::ascii_isdigit);
}

}  // namespace

void ShellReader::Append(std::string_view text) {
  if (!in_word_) word_line_ = line_;
  in_word_ = true;
  word_ += text;
  expanded_ += text.size() + 1;
  if (expanded_ > kMaxExpanded) Fail("its variables grow without bound");
}

void ShellReader::Next() {
  if (branches_.expects_patterns() && !in_word_ && command_.empty()) return CasePatterns();
  const char c = Peek();
  if (InDoubleBrackets() && TestSign(c)) return;
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
    if (ContinuesCommand()) {
      EndWord();
    } else {
      EndCommand();
    }
    Take();
    ReadHeredocs();
  } else if (absl::ascii_isspace(c)) {
    EndWord();
    Take();
  } else if (c == '#' && !in_word_) {
    while (at_ < text_.size() && Peek() != '\n') Take();
  } else if (c == ';' && Peek(1) == ';' && branches_.in_case()) {
    EndCommand();
    Take();
    Take();
    branches_.EndBranch();
  } else if (c == '(' && Peek(1) == '(' && !in_word_ && BeginsCommand()) {
    Arithmetic();
  } else if (c == ';' || c == '|' || c == '&' || (c == ')' && !array_)) {
    const bool joins = (c == '&' || c == '|') && Peek(1) == c;
    EndCommand(!joins ? Joint::kNone : c == '&' ? Joint::kAnd : Joint::kOr);
    joined_ = joins;
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

bool ShellReader::InTest() const {
  const auto opens = std::find_if(command_.begin(), command_.end(),
                                  [](const ShellWord& word) { return !BeginsTest(word.text); });
  if (opens == command_.end() || command_.back().text == "=~") return false;
  return opens->text == "[" || opens->text == "[[" || opens->text == "test";
}

bool ShellReader::InDoubleBrackets() const {
  if (in_word_ && word_ == "]]") return false;
  const auto opens = std::find_if(command_.begin(), command_.end(),
                                  [](const ShellWord& word) { return !BeginsTest(word.text); });
  return opens != command_.end() && opens->text == "[[" && command_.back().text != "]]";
}

bool ShellReader::TestSign(char c) {
  const bool expression = command_.back().text == "=~";
  if (expression && std::string("()|<>&").find(c) != std::string::npos) {
    Append(std::string(1, Take()));
  } else if ((c == '&' || c == '|') && Peek(1) == c) {
    EndWord();
    Append(std::string(2, c));
    Take();
    Take();
    EndWord();
  } else if (c == '(' || c == ')' || c == '<' || c == '>') {
    EndWord();
    Append(std::string(1, Take()));
    EndWord();
  } else if (c == '\n') {
    EndWord();
    Take();
  } else {
    return false;
  }
  return true;
}

void ShellReader::Arithmetic() {
  Take();
  Take();
  const std::string inside = Bracketed('(', ')');
  const bool closed = Peek() == ')';
  if (closed) Take();
  const std::optional<int64_t> value = closed ? SumOf(inside) : std::nullopt;
  const size_t equals = inside.find('=');
  if (!value && closed && equals != std::string::npos) {
    const std::string name(absl::StripAsciiWhitespace(inside.substr(0, equals)));
    const std::optional<int64_t> assigned = SumOf(inside.substr(equals + 1));
    if (assigned && IsAssignment(name + "=")) {
      Assign(name, {std::to_string(*assigned)});
    } else {
      script_.branches = true;  // "((I += 1))" and the like are not read
    }
  }
  Append(value ? (*value != 0 ? "true" : "false") : "((" + inside + "))");
  EndWord();
}

void ShellReader::CasePatterns() {
  while (at_ < text_.size() && (absl::ascii_isspace(Peek()) || Peek() == '#')) {
    const bool comment = Peek() == '#';
    while (comment && at_ < text_.size() && Peek() != '\n') Take();
    if (at_ < text_.size()) Take();
  }
  if (text_.compare(at_, 4, "esac") == 0 && !IsNameChar(Peek(4))) {
    for (int i = 0; i < 4; ++i) Take();
    return branches_.EndCase();
  }
  if (Peek() == '(') Take();
  std::vector<std::string> patterns = {""};
  while (at_ < text_.size() && Peek() != ')') {
    const char c = Take();
    if (c == '|') {
      patterns.emplace_back();
    } else if (c == '"' || c == '\'') {
      while (at_ < text_.size() && Peek() != c) patterns.back() += Take();
      if (at_ < text_.size()) Take();
    } else if (!absl::ascii_isspace(c)) {
      patterns.back() += c;
    }
  }
  if (at_ < text_.size()) Take();
  branches_.BeginBranch(patterns);
}

void ShellReader::Part(bool quoted) {
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

void ShellReader::SingleQuotes() {
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

void ShellReader::DoubleQuotes() {
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

std::string ShellReader::Bracketed(char open, char close) {
  std::string inside;
  for (int depth = 1;;) {
    if (at_ == text_.size()) Fail(fmt::format("a bracket {} is not closed", open));
    const char c = Take();
    if (c == open) ++depth;
    if (c == close && --depth == 0) return inside;
    inside += c;
  }
}

bool ShellReader::IsAssignment(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || absl::ascii_isdigit(word[0])) return false;
  const size_t end = word[equals - 1] == '+' ? equals - 1 : equals;
  for (size_t i = 0; i < end; ++i)
    if (!IsNameChar(word[i])) return false;
  return end > 0;
}

void ShellReader::Assign(std::string name, std::vector<std::string> values) {
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

void ShellReader::EndWord() {
  if (!in_word_) return;
  in_word_ = joined_ = false;
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
    if (word == "{") branches_.BeginGroup();
  } else if (word == "in" && !command_.empty() && command_.size() <= 2 &&
             command_.front().text == "case") {
    branches_.BeginCase(command_.size() == 2 ? command_[1].text : "");
    command_.clear();
  } else {
    if (TakesScript(command_)) ReadInside(word, word_line_, line_ == word_line_);
    command_.push_back({std::move(word), word_line_});
  }
}

void ShellReader::EndCommand(Joint joint) {
  EndWord();
  if (array_) return;  // lines of an array are one command
  std::vector<ShellWord> command = std::exchange(command_, {});
  const bool runs = branches_.Runs();
  branches_.EndCommand(command, joint);
  script_.branches = script_.branches || branches_.undecided();
  if (!command.empty() && command.front().text == "!") command.erase(command.begin());
  if (!runs) {
    command.clear();
  } else if (command.size() > 1 && command[0].text == "set" && command[1].text == "--") {
    SetArguments({command.begin() + 2, command.end()});
  } else if (!command.empty() && command.front().text == "eval") {
    std::string joined;
    for (size_t i = 1; i < command.size(); ++i) joined += command[i].text + " ";
    ReadInside(joined, command.front().line, /*fixed=*/true);
  } else if (!command.empty()) {
    script_.commands.push_back(std::move(command));
  }
  if (heredocs_.empty()) target_.clear();
}

void ShellReader::SetArguments(const std::vector<ShellWord>& words) {
  std::vector<std::string>& all = variables_["@"];
  all.clear();
  for (const ShellWord& word : words) {
    all.push_back(word.text);
    variables_[std::to_string(all.size())] = {word.text};
    expanded_ += word.text.size();
  }
}

void ShellReader::ReadInside(const std::string& text, int line, bool fixed) {
  if (!branches_.Runs()) return;
  if (depth_ >= kMaxScripts) Fail("scripts in arguments are nested too deep");
  expanded_ += text.size();
  if (expanded_ > kMaxExpanded) Fail("its variables grow without bound");
  ShellReader(text, name_, state_, line, fixed, depth_ + 1).Run();
}

void ShellReader::Redirect() {
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

void ShellReader::ReadHeredocs() {
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
      ReadInside(heredoc.quoted
                     ? file.text
                     : absl::StrReplaceAll(file.text, {{"\\$", "$"}, {"\\`", "`"}, {"\\\\", "\\"}}),
                 file.line, fixed_line_);
    script_.files.push_back(std::move(file));
  }
  if (!heredocs_.empty()) target_.clear();
  heredocs_.clear();
}

}  // namespace evenkeel::cli
