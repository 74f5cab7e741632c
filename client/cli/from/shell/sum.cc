#include "client/cli/from/shell/sum.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>

namespace evenkeel::cli {
namespace {

constexpr int kMaxSumDepth = 32;
constexpr int64_t kMaxSum = int64_t{1} << 53;

class Sum {
 public:
  Sum(const std::string& text, const std::function<std::string(const std::string&)>& value_of)
      : text_(text), value_of_(value_of) {}

  std::optional<int64_t> Run() {
    const std::optional<int64_t> value = AnyOf(0);
    Skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }

  bool Take(const char* any, char* taken) {
    Skip();
    if (at_ == text_.size() || std::string(any).find(text_[at_]) == std::string::npos) return false;
    *taken = text_[at_++];
    return true;
  }

  // Takes these characters, unless the next one makes another sign of them.
  bool TakeSign(const std::string& sign) {
    Skip();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    if (sign.size() == 1 && at_ + 1 < text_.size() && text_[at_ + 1] == '=') return false;
    at_ += sign.size();
    return true;
  }

  std::optional<int64_t> AnyOf(int depth) {
    std::optional<int64_t> value = AllOf(depth);
    while (value && TakeSign("||")) {
      const std::optional<int64_t> next = AllOf(depth);
      if (!next) return std::nullopt;
      value = *value != 0 || *next != 0;
    }
    return value;
  }

  std::optional<int64_t> AllOf(int depth) {
    std::optional<int64_t> value = Compared(depth);
    while (value && TakeSign("&&")) {
      const std::optional<int64_t> next = Compared(depth);
      if (!next) return std::nullopt;
      value = *value != 0 && *next != 0;
    }
    return value;
  }

  std::optional<int64_t> Compared(int depth) {
    const std::optional<int64_t> left = Terms(depth);
    if (!left) return std::nullopt;
    for (const std::string sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!TakeSign(sign)) continue;
      const std::optional<int64_t> right = Terms(depth);
      if (!right) return std::nullopt;
      if (sign == "==") return *left == *right;
      if (sign == "!=") return *left != *right;
      if (sign == "<=") return *left <= *right;
      if (sign == ">=") return *left >= *right;
      return sign == "<" ? *left < *right : *left > *right;
    }
    return left;
  }

  static std::optional<int64_t> Bounded(int64_t value) {
    if (value > kMaxSum || value < -kMaxSum) return std::nullopt;
    return static_cast<int64_t>(value);
  }

  static std::optional<int64_t> Product(int64_t a, int64_t b) {
    int64_t value = 0;
    if (__builtin_mul_overflow(a, b, &value)) return std::nullopt;
    return Bounded(value);
  }

  std::optional<int64_t> Terms(int depth) {
    std::optional<int64_t> value = Factors(depth);
    char sign = 0;
    while (value && Take("+-", &sign)) {
      const std::optional<int64_t> next = Factors(depth);
      if (!next) return std::nullopt;
      value = Bounded(sign == '+' ? *value + *next : *value - *next);
    }
    return value;
  }

  std::optional<int64_t> Factors(int depth) {
    std::optional<int64_t> value = Factor(depth);
    char sign = 0;
    while (value && Take("*/%", &sign)) {
      const std::optional<int64_t> next = Factor(depth);
      if (!next || (sign != '*' && *next == 0)) return std::nullopt;
      value = sign == '*'   ? Product(*value, *next)
              : sign == '/' ? Bounded(*value / *next)
                            : Bounded(*value % *next);
    }
    return value;
  }

  std::optional<int64_t> Factor(int depth) {
    char bracket = 0;
    if (depth > kMaxSumDepth) return std::nullopt;
    if (Take("(", &bracket)) {
      const std::optional<int64_t> value = AnyOf(depth + 1);
      return Take(")", &bracket) ? value : std::nullopt;
    }
    if (TakeSign("!")) {
      const std::optional<int64_t> value = Factor(depth + 1);
      return value ? std::optional<int64_t>(*value == 0) : std::nullopt;
    }
    Skip();
    while (at_ < text_.size() && (text_[at_] == '$' || text_[at_] == '{')) ++at_;
    std::string word;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '_'))
      word += text_[at_++];
    if (at_ < text_.size() && text_[at_] == '}') ++at_;
    if (word.empty()) return std::nullopt;
    if (!absl::ascii_isdigit(word[0])) word = value_of_(word);
    int64_t value = 0;
    if (!absl::SimpleAtoi(word, &value)) return std::nullopt;
    return Bounded(value);
  }

  const std::string& text_;
  const std::function<std::string(const std::string&)>& value_of_;
  size_t at_ = 0;
};

}  // namespace

std::optional<int64_t> ShellSum(const std::string& text,
                                const std::function<std::string(const std::string&)>& value_of) {
  return Sum(text, value_of).Run();
}

}  // namespace evenkeel::cli
