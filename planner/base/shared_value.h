// A value whose copies are one object in memory.
#ifndef EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_
#define EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_

#include <memory>
#include <utility>

namespace evenkeel::planner {

// Holds a T that never changes; assign a whole new one instead. For large values that many records
// have in common. Never empty.
template <typename T>
class SharedValue {
 public:
  SharedValue() : value_(Default()) {}
  SharedValue(T value) : value_(std::make_shared<const T>(std::move(value))) {}

  operator const T&() const { return *value_; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  static const std::shared_ptr<const T>& Default() {
    static const auto value = std::make_shared<const T>();
    return value;
  }

  std::shared_ptr<const T> value_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_SHARED_VALUE_H_
