// What stands behind a "$".
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "client/cli/from/shell/conditions.h"
#include "client/cli/from/shell/reader.h"

namespace evenkeel::cli {
namespace {

constexpr int kMaxDepth = 16;  // of "${A:-${B:-...}}"

// Returns a value as "${NAME,,}", "${NAME^^}", "${NAME#PATTERN}", "${NAME%PATTERN}" and
// "${NAME/FROM/TO}" change it; `edit` is what follows the name. Returns nullopt for another edit.
std::optional<std::string> Edited(const std::string& value, const std::string& edit) {
  if (edit == ",,") return absl::AsciiStrToLower(value);
  if (edit == "^^") return absl::AsciiStrToUpper(value);
  if (edit.size() < 2 || value.size() > 1000 || edit.find('$') != std::string::npos)
    return std::nullopt;
  const char sign = edit[0];
  const bool twice = edit[1] == sign;
  const std::string pattern =
      absl::StrReplaceAll(edit.substr(twice ? 2 : 1), {{"\"", ""}, {"'", ""}});
  if (sign == '/') {
    const std::vector<std::string> parts = absl::StrSplit(pattern, '/');
    if (parts.size() > 2 || parts[0].empty() || parts[0][0] == '#' || parts[0][0] == '%' ||
        pattern.find_first_of("*?[\\") != std::string::npos)
      return std::nullopt;
    const std::string to = parts.size() == 2 ? parts[1] : "";
    if (twice) return absl::StrReplaceAll(value, {{parts[0], to}});
    const size_t at = value.find(parts[0]);
    if (at == std::string::npos) return value;
    return value.substr(0, at) + to + value.substr(at + parts[0].size());
  }
  if (sign != '#' && sign != '%') return std::nullopt;
  // The shortest part that fits goes, or with the sign twice, the longest.
  for (size_t i = 0; i <= value.size(); ++i) {
    const size_t size = twice ? value.size() - i : i;
    const std::string part =
        sign == '#' ? value.substr(0, size) : value.substr(value.size() - size);
    const std::optional<bool> fits = FitsPattern(part, pattern);
    if (!fits) return std::nullopt;
    if (*fits) return sign == '#' ? value.substr(size) : value.substr(0, value.size() - size);
  }
  return value;
}

}  // namespace

std::optional<int64_t> ShellReader::Expression(const std::string& command) const {
  if (!absl::StartsWith(command, "expr ")) return std::nullopt;
  return SumOf(absl::StrReplaceAll(command.substr(5), {{"\\", ""}, {"\"", ""}}));
}

void ShellReader::Variable(bool quoted, int depth) {
  Take();
  if (Peek() == '(') {
    Take();
    const std::string inside = Bracketed('(', ')');
    const bool sum = inside.size() > 1 && inside.front() == '(' && inside.back() == ')';
    const std::optional<int64_t> value =
        sum ? SumOf(inside.substr(1, inside.size() - 2)) : Expression(inside);
    Append(value ? std::to_string(*value) : "$(" + inside + ")");
  } else if (Peek() == '{') {
    Take();
    Expand(Bracketed('{', '}'), quoted, depth);
  } else {
    std::string name;
    while (IsNameChar(Peek()) && (name.empty() || !absl::ascii_isdigit(name[0]))) name += Take();
    if (name.empty() && std::string("@*#?!$-").find(Peek()) != std::string::npos && Peek() != '\0')
      name = std::string(1, Take());
    const bool arguments = name == "@" || name == "*";
    if (name == "#") return Append(std::to_string(ArgumentCount()));
    if (arguments && ArgumentCount() > 0)
      return PutIn(variables_["@"], true, quoted, /*joined=*/quoted && name == "*");
    Expand(name, quoted, depth);
  }
}

bool ShellReader::PutInNothing(const std::string& name, bool quoted) {
  if (!InTest() || !state_->setters.LeavesUnset(name, branches_.repeats())) return false;
  script_.empty_in_tests.insert(name);
  if (quoted || InDoubleBrackets()) Append("");
  return true;
}

void ShellReader::Expand(const std::string& inside, bool quoted, int depth) {
  size_t end = 0;
  while (end < inside.size() && IsNameChar(inside[end])) ++end;
  const std::string name = inside.substr(0, end);
  std::string rest = inside.substr(end);
  const bool all = rest == "[@]" || rest == "[*]";
  const auto found = variables_.find(name);
  const bool set = found != variables_.end();
  if (set && (all || rest.empty()))
    return PutIn(found->second, all, quoted, /*joined=*/quoted && rest == "[*]");
  if (rest.empty() && PutInNothing(name, quoted)) return;
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
      return sign == "=" ? AssignDefault(name, word, quoted, depth) : Default(word, quoted, depth);
    }
  }
  if (const std::optional<std::string> edited = set ? Edited(Scalar(name), rest) : std::nullopt)
    return PutIn({*edited}, false, quoted);
  if (!set && !name.empty() && name != "@" && name != "*") script_.unset.insert(name);
  if (name.empty() && inside.empty()) return Append("$");
  Append("${" + inside + "}");
}

void ShellReader::AssignDefault(const std::string& name, const std::string& text, bool quoted,
                                int depth) {
  std::string before = std::exchange(word_, "");
  const bool inside = std::exchange(in_word_, false);
  Default(text, /*quoted=*/true, depth);
  const std::string value = std::exchange(word_, std::move(before));
  in_word_ = inside;
  variables_[name] = {value};
  PutIn({value}, false, quoted);
}

void ShellReader::Default(const std::string& text, bool quoted, int depth) {
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

void ShellReader::PutIn(const std::vector<std::string>& values, bool all, bool quoted,
                        bool joined) {
  // Where no words are split.
  const bool assigned = InAssignment() || InDoubleBrackets() ||
                        (command_.size() == 1 && command_.front().text == "case");
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

}  // namespace evenkeel::cli
