#ifndef EVENKEEL_PLANNER_BASE_REQUIRED_H_
#define EVENKEEL_PLANNER_BASE_REQUIRED_H_

#include <utility>

namespace evenkeel::planner {

// A member of a record that has no default: a record that leaves it out does not compile.
template <typename T>
class Required {
 public:
  Required(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  operator const T&() const { return value_; }     // NOLINT(google-explicit-constructor)

 private:
  T value_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_REQUIRED_H_
