// A value whose copies are one object in memory.
#ifndef EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_
#define EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_

#include <memory>
#include <utility>

namespace evenkeel::planner {

// Holds a T that never changes; assign a whole new one instead. For values that many records have
// in common. Never empty: without move operations, what is moved from is only copied.
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
  // Returns whether no copy of it is left.
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
