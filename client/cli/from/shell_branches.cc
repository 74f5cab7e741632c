#include "client/cli/from/shell_branches.h"

#include <absl/strings/numbers.h>
#include <cstdint>
#include <string>

namespace evenkeel::cli {
namespace {

// Returns whether the word is text as it stands.
bool IsKnown(const std::string& word) { return word.find_first_of("$`*?") == std::string::npos; }

std::optional<bool> Compared(const std::string& left, const std::string& sign,
                             const std::string& right) {
  if (!IsKnown(left) || !IsKnown(right)) return std::nullopt;
  if (sign == "=" || sign == "==") return left == right;
  if (sign == "!=") return left != right;
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

bool Opens(const std::string& word) { return word == "[" || word == "[[" || word == "test"; }

}  // namespace

std::optional<bool> TestResult(const std::vector<ShellWord>& words, size_t first) {
  std::vector<std::string> test;
  bool negated = false;
  if (first < words.size() && words[first].text == "!") negated = true, ++first;
  for (size_t i = first; i < words.size(); ++i) test.push_back(words[i].text);
  if (test.empty() || !Opens(test.front())) return std::nullopt;
  if (test.front() != "test") {
    if (test.back() != (test.front() == "[" ? "]" : "]]")) return std::nullopt;
    test.pop_back();
  }
  test.erase(test.begin());
  if (!test.empty() && test.front() == "!") negated = !negated, test.erase(test.begin());
  std::optional<bool> result;
  if (test.size() == 1 && IsKnown(test[0])) {
    result = !test[0].empty();
  } else if (test.size() == 2 && (test[0] == "-z" || test[0] == "-n") && IsKnown(test[1])) {
    result = test[1].empty() == (test[0] == "-z");
  } else if (test.size() == 3) {
    result = Compared(test[0], test[1], test[2]);
  }
  return result ? std::optional(*result != negated) : std::nullopt;
}

bool ShellBranches::Runs() const { return !skips_ && (branches_.empty() || branches_.back().runs); }

void ShellBranches::Enter(std::optional<bool> condition, Branch* branch) {
  if (branch->outer && !condition) branch->decided = false, undecided_ = true;
  branch->runs = branch->outer && condition.value_or(true);
  branch->taken = branch->taken || branch->runs;
}

void ShellBranches::EndCommand(const std::vector<ShellWord>& words, Joint joint) {
  const std::string first = words.empty() ? "" : words.front().text;
  // A condition of several commands is not known.
  const auto condition = [&] {
    return joint == Joint::kNone ? TestResult(words, 1) : std::nullopt;
  };
  if (first == "if") {
    branches_.push_back({.outer = Runs()});
    Enter(condition(), &branches_.back());
  } else if (first == "elif" && !branches_.empty()) {
    Branch& branch = branches_.back();
    if (branch.decided && branch.taken) {
      branch.runs = false;
    } else if (branch.decided) {
      Enter(condition(), &branch);
    }
  } else if (first == "fi" && !branches_.empty()) {
    branches_.pop_back();
  } else {
    return Join(words, joint);
  }
  skips_ = conditional_ = false;
  status_.reset();
}

void ShellBranches::Join(const std::vector<ShellWord>& words, Joint joint) {
  // An assignment succeeds.
  if (!skips_) status_ = words.empty() ? std::optional(true) : TestResult(words, 0);
  skips_ = joint != Joint::kNone && status_ && *status_ == (joint == Joint::kOr);
  conditional_ = joint != Joint::kNone && !status_;
  if (joint == Joint::kNone) status_.reset();
}

void ShellBranches::Else() {
  if (branches_.empty() || !branches_.back().decided) return;
  Branch& branch = branches_.back();
  branch.runs = branch.outer && !branch.taken;
}

}  // namespace evenkeel::cli
