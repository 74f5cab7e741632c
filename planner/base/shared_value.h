// A value whose copies share one object in memory.
#ifndef EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_
#define EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_

#include <memory>
#include <utility>

namespace evenkeel::planner {

// Holds an immutable T, for values that many records have in common. To change the value, assign a
// new one. It is never empty, even after a move, because it has no move operations: a move copies.
template <typename T>
class SharedValue {
 public:
  SharedValue() : value_(Default()) {}
  SharedValue(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  SharedValue(const SharedValue&) = default;
  SharedValue& operator=(const SharedValue&) = default;

  operator const T&() const { return *value_; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  // Returns whether this is the only copy.
  bool alone() const { return value_.use_count() == 1; }

 private:
  static const std::shared_ptr<const T>& Default() {
    static const auto value = std::make_shared<const T>();
    return value;
  }

  std::shared_ptr<const T> value_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_
