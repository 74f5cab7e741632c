#include "client/cli/from/shell/branches.h"

#include <algorithm>
#include <cstddef>

#include "client/cli/from/shell/conditions.h"

namespace evenkeel::cli {

bool ShellBranches::Runs() const { return !skips_ && (branches_.empty() || branches_.back().runs); }

void ShellBranches::Enter(std::optional<bool> condition, Branch* branch) {
  if (branch->outer && !condition) branch->decided = false, undecided_ = true;
  branch->runs = branch->outer && condition.value_or(true);
  branch->taken = branch->taken || branch->runs;
  if (branch->kind == Kind::kLoop && branch->runs) undecided_ = true;
}

void ShellBranches::EndCommand(const std::vector<ShellWord>& words, Joint joint) {
  const std::string first = words.empty() ? "" : words.front().text;
  if (condition_) return AddToCondition(words, 0, joint);
  const bool loop = first == "while" || first == "until";
  if (first == "if" || loop) {
    branches_.push_back({.kind = loop ? Kind::kLoop : Kind::kIf, .outer = Runs(), .word = ""});
    condition_ = {.value = std::nullopt, .negated = first == "until"};
    return AddToCondition(words, 1, joint);
  }
  if (first == "elif" && !branches_.empty()) {
    condition_ = Condition{};
    return AddToCondition(words, 1, joint);
  }
  if (first == "for" || first == "select") {
    branches_.push_back({.kind = Kind::kLoop, .outer = Runs(), .word = ""});
    Enter(std::nullopt, &branches_.back());
  } else if (first == "}") {
    Leave(Kind::kGroup);
  } else if (first == "fi") {
    Leave(Kind::kIf);
  } else if (first == "done") {
    Leave(Kind::kLoop);
  } else if (first == "esac") {
    Leave(Kind::kCase);
  } else {
    return Join(words, joint);
  }
  skips_ = false;
  conditional_ = joint != Joint::kNone;  // whether a branch or a group succeeds is not known
  status_.reset();
}

void ShellBranches::AddToCondition(const std::vector<ShellWord>& words, size_t first, Joint joint) {
  Condition& condition = *condition_;
  if (words.empty() && condition.joint != Joint::kNone) return;  // a new line after "&&" or "||"
  const std::optional<bool> result = TestResult(words, first);
  condition.value = condition.joint == Joint::kAnd  ? Both(condition.value, result)
                    : condition.joint == Joint::kOr ? Either(condition.value, result)
                                                    : result;
  condition.joint = joint;
  if (joint != Joint::kNone) return;
  std::optional<bool> value = condition.value;
  if (value && condition.negated) value = !*value;
  condition_.reset();
  skips_ = conditional_ = false;
  status_.reset();
  Branch& branch = branches_.back();
  if (branch.decided && branch.taken) {
    branch.runs = false;  // "elif" after a branch that ran
  } else if (branch.decided) {
    Enter(value, &branch);
  }
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

void ShellBranches::BeginGroup() {
  undecided_ = undecided_ || conditional_;
  const bool runs = Runs();
  branches_.push_back({.kind = Kind::kGroup, .outer = runs, .runs = runs, .word = ""});
  skips_ = conditional_ = false;
  status_.reset();
}

void ShellBranches::BeginCase(const std::string& word) {
  branches_.push_back({.kind = Kind::kCase, .outer = Runs(), .waits = true, .word = word});
}

bool ShellBranches::expects_patterns() const {
  return !branches_.empty() && branches_.back().waits;
}

void ShellBranches::BeginBranch(const std::vector<std::string>& patterns) {
  Branch& branch = branches_.back();
  branch.waits = false;
  if (!branch.decided) return;
  if (branch.taken) {
    branch.runs = false;
    return;
  }
  std::optional<bool> fits = false;
  for (const std::string& pattern : patterns)
    fits = Either(fits, FitsPattern(branch.word, pattern));
  Enter(fits, &branch);
}

bool ShellBranches::repeats() const {
  return std::any_of(branches_.begin(), branches_.end(), [](const Branch& branch) {
    return branch.kind == Kind::kLoop || branch.kind == Kind::kGroup;
  });
}

void ShellBranches::EndBranch() { branches_.back().waits = true; }

void ShellBranches::Leave(Kind kind) {
  if (!branches_.empty() && branches_.back().kind == kind) branches_.pop_back();
}

}  // namespace evenkeel::cli
