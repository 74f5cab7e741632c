// Code that the checkers of a plan share: a list of faults, and comparisons of rounded figures.
#ifndef EVENKEEL_PLANNER_CHECK_FAULTS_H_
#define EVENKEEL_PLANNER_CHECK_FAULTS_H_

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace evenkeel::planner {

// Collects the faults of a plan, in words.
class Faults {
 public:
  // `prefix` begins the text of every fault.
  explicit Faults(std::string prefix = "") : prefix_(std::move(prefix)) {}

  bool empty() const { return list_.empty(); }

  void Require(bool holds, const std::string& fault) {
    if (!holds) list_.push_back(prefix_ + fault);
  }
  void Append(const std::vector<std::string>& faults) {
    for (const std::string& fault : faults) list_.push_back(prefix_ + fault);
  }

  std::vector<std::string> Take() { return std::move(list_); }

 private:
  std::string prefix_;
  std::vector<std::string> list_;
};

inline bool Near(double a, double b, double tolerance = 1e-9) {
  return std::abs(a - b) <= tolerance * std::abs(b);
}

inline bool IsRatio(double value) { return std::isfinite(value) && value >= 0 && value <= 1; }

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CHECK_FAULTS_H_
