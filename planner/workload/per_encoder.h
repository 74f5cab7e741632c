// One value for each encoder of a model.
#ifndef EVENKEEL_PLANNER_WORKLOAD_PER_ENCODER_H_
#define EVENKEEL_PLANNER_WORKLOAD_PER_ENCODER_H_

#include <algorithm>
#include <array>
#include <cstddef>

namespace evenkeel::planner {

inline constexpr size_t kEncodersAtMost = 4;

// One value for each encoder, in the model's order; 0 beyond the last encoder. Two of these have no
// order, because one may be larger for one encoder and smaller for another.
template <typename T>
class PerEncoder {
 public:
  constexpr PerEncoder() = default;
  // The value of the first encoder, for models with one.
  // NOLINTNEXTLINE(google-explicit-constructor): a single column is as good as a number
  constexpr PerEncoder(T first) : values_{first} {}

  static constexpr PerEncoder Of(size_t encoder, T value) {
    PerEncoder all;
    all[encoder] = value;
    return all;
  }

  constexpr T& operator[](size_t encoder) { return values_[encoder]; }
  constexpr const T& operator[](size_t encoder) const { return values_[encoder]; }
  constexpr const std::array<T, kEncodersAtMost>& values() const { return values_; }

  constexpr PerEncoder& operator+=(const PerEncoder& other) {
    for (size_t e = 0; e < kEncodersAtMost; ++e) values_[e] += other[e];
    return *this;
  }
  friend constexpr PerEncoder operator+(PerEncoder a, const PerEncoder& b) { return a += b; }
  friend constexpr PerEncoder operator-(PerEncoder a, const PerEncoder& b) {
    for (size_t e = 0; e < kEncodersAtMost; ++e) a[e] -= b[e];
    return a;
  }
  friend constexpr PerEncoder operator*(PerEncoder a, T factor) {
    for (T& value : a.values_) value *= factor;
    return a;
  }
  friend constexpr PerEncoder operator*(T factor, const PerEncoder& a) { return a * factor; }
  friend constexpr PerEncoder operator/(PerEncoder a, T divisor) {
    for (T& value : a.values_) value /= divisor;
    return a;
  }
  friend constexpr bool operator==(const PerEncoder&, const PerEncoder&) = default;

  // Returns the larger of both values of each encoder.
  friend constexpr PerEncoder Max(PerEncoder a, const PerEncoder& b) {
    for (size_t e = 0; e < kEncodersAtMost; ++e) a[e] = std::max(a[e], b[e]);
    return a;
  }

  // Returns the sum of value x factor over the encoders.
  constexpr T Dot(const PerEncoder& factors) const {
    T sum = values_[0] * factors[0];
    for (size_t e = 1; e < kEncodersAtMost; ++e) sum += values_[e] * factors[e];
    return sum;
  }

  template <typename To>
  constexpr PerEncoder<To> As() const {
    PerEncoder<To> to;
    for (size_t e = 0; e < kEncodersAtMost; ++e) to[e] = static_cast<To>(values_[e]);
    return to;
  }

 private:
  std::array<T, kEncodersAtMost> values_{};
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_WORKLOAD_PER_ENCODER_H_
