#include "client/cli/from/shell/conditions.h"

#include <fnmatch.h>

#include <absl/strings/numbers.h>
#include <algorithm>
#include <cstdint>
#include <regex>
#include <string>

namespace evenkeel::cli {
namespace {

// Returns whether the word is text as it stands.
bool IsKnown(const std::string& word) { return word.find_first_of("$`") == std::string::npos; }

// Matching tries every way to divide a text among the parts of a pattern that repeat, so texts and
// patterns have limits.
constexpr size_t kMaxSize = 200;
constexpr int64_t kMaxRepeats = 3;

int64_t Repeats(const std::string& pattern, const std::string& signs) {
  return std::count_if(pattern.begin(), pattern.end(),
                       [&](char c) { return signs.find(c) != std::string::npos; });
}

// Returns whether some part of the text fits the regular expression.
std::optional<bool> FitsExpression(const std::string& text, const std::string& expression) {
  if (text.size() > kMaxSize || expression.size() > kMaxSize ||
      Repeats(expression, "*+{") > kMaxRepeats)
    return std::nullopt;
  for (const char* repeated_group : {")*", ")+", "){"})
    if (expression.find(repeated_group) != std::string::npos) return std::nullopt;
  try {
    return std::regex_search(text, std::regex(expression, std::regex::extended));
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

std::optional<bool> Compared(const std::string& left, const std::string& sign,
                             const std::string& right, bool patterns) {
  if (!IsKnown(left)) return std::nullopt;
  if (sign == "=~") return FitsExpression(left, right);
  if (!IsKnown(right)) return std::nullopt;
  if (sign == "=" || sign == "==" || sign == "!=") {
    const std::optional<bool> equal =
        patterns ? FitsPattern(left, right) : std::optional(left == right);
    return equal ? std::optional(*equal == (sign != "!=")) : std::nullopt;
  }
  int64_t a = 0, b = 0;
  if (!absl::SimpleAtoi(left, &a) || !absl::SimpleAtoi(right, &b)) return std::nullopt;
  if (sign == "-eq") return a == b;
  if (sign == "-ne") return a != b;
  if (sign == "-lt") return a < b;
  if (sign == "-le") return a <= b;
  if (sign == "-gt") return a > b;
  if (sign == "-ge") return a >= b;
  return std::nullopt;
}

// Reads what stands between the brackets of a test. Between "[[" and "]]", what follows "==" is a
// pattern.
class Test {
 public:
  Test(std::vector<std::string> words, bool double_brackets)
      : words_(std::move(words)), patterns_(double_brackets) {}

  std::optional<bool> Run() {
    const std::optional<bool> result = AnyOf(0);
    return at_ == words_.size() ? result : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 32;

  bool Take(const std::string& word) {
    if (at_ == words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }

  size_t left() const { return words_.size() - at_; }

  bool Joins(size_t at) const {
    const std::string& word = words_[at];
    return word == "-a" || word == "-o" || word == "&&" || word == "||" || word == ")";
  }

  std::optional<bool> AnyOf(int depth) {
    std::optional<bool> result = AllOf(depth);
    while (Take("||") || Take("-o")) result = Either(result, AllOf(depth));
    return result;
  }

  std::optional<bool> AllOf(int depth) {
    std::optional<bool> result = One(depth);
    while (Take("&&") || Take("-a")) result = Both(result, One(depth));
    return result;
  }

  std::optional<bool> One(int depth) {
    if (depth > kMaxDepth || left() == 0) return std::nullopt;
    const bool alone = left() == 1 || Joins(at_ + 1);
    if (!alone && Take("!")) {
      const std::optional<bool> result = One(depth + 1);
      return result ? std::optional(!*result) : std::nullopt;
    }
    if (!alone && Take("(")) {
      const std::optional<bool> result = AnyOf(depth + 1);
      return Take(")") ? result : std::nullopt;
    }
    if (alone) {
      const std::string& word = words_[at_++];
      return IsKnown(word) ? std::optional(!word.empty()) : std::nullopt;
    }
    if (left() == 2 || Joins(at_ + 2)) {
      const std::string sign = words_[at_], word = words_[at_ + 1];
      at_ += 2;
      if ((sign != "-z" && sign != "-n") || !IsKnown(word)) return std::nullopt;
      return word.empty() == (sign == "-z");
    }
    at_ += 3;
    return Compared(words_[at_ - 3], words_[at_ - 2], words_[at_ - 1], patterns_);
  }

  const std::vector<std::string> words_;
  const bool patterns_;
  size_t at_ = 0;
};

}  // namespace

std::optional<bool> Both(std::optional<bool> a, std::optional<bool> b) {
  if ((a && !*a) || (b && !*b)) return false;
  return a && b ? std::optional(true) : std::nullopt;
}

std::optional<bool> Either(std::optional<bool> a, std::optional<bool> b) {
  if ((a && *a) || (b && *b)) return true;
  return a && b ? std::optional(false) : std::nullopt;
}

std::optional<bool> FitsPattern(const std::string& text, const std::string& pattern) {
  if (!IsKnown(text) || !IsKnown(pattern)) return std::nullopt;
  const int64_t stars = Repeats(pattern, "*");
  if (stars > kMaxRepeats || (stars > 1 && text.size() > kMaxSize)) return std::nullopt;
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

std::optional<bool> TestResult(const std::vector<ShellWord>& words, size_t first) {
  std::vector<std::string> test;
  bool negated = false;
  for (; first < words.size() && words[first].text == "!"; ++first) negated = !negated;
  for (size_t i = first; i < words.size(); ++i) test.push_back(words[i].text);
  if (test.empty()) return std::nullopt;
  const std::string opens = test.front();
  std::optional<bool> result;
  if (test.size() == 1 && (opens == "true" || opens == ":" || opens == "false")) {
    result = opens != "false";
  } else if (opens == "[" || opens == "[[" || opens == "test") {
    test.erase(test.begin());
    if (opens != "test") {
      if (test.empty() || test.back() != (opens == "[" ? "]" : "]]")) return std::nullopt;
      test.pop_back();
    }
    result = test.empty() ? std::optional(false) : Test(std::move(test), opens == "[[").Run();
  }
  return result ? std::optional(*result != negated) : std::nullopt;
}

}  // namespace evenkeel::cli
