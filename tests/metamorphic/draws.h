// Random choices that depend only on a seed. They are the same on every platform and in every run.
#ifndef EVENKEEL_TESTS_METAMORPHIC_DRAWS_H_
#define EVENKEEL_TESTS_METAMORPHIC_DRAWS_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace evenkeel::metamorphic {

// SplitMix64. Different seeds give unrelated choices.
class Draws {
 public:
  // `stream` separates choices that one job makes for different purposes.
  Draws(uint64_t seed, uint64_t number, uint64_t stream = 0)
      : state_(seed + 0x632be59bd9b4e019 * (number + 1)) {
    state_ = Next() ^ (stream * 0x9e3779b97f4a7c15);
  }

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Draws from `least` to `most`, both included. REQUIRES: least <= most.
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(Next() % (static_cast<uint64_t>(most - least) + 1));
  }

  bool OneIn(int64_t n) { return Between(1, n) == 1; }

  // Draws from that range, with each power of two as likely as any other. REQUIRES: 1 <= least.
  int64_t Scaled(int64_t least, int64_t most) {
    int64_t doublings = 0;
    while (doublings < 62 && least <= (most >> (doublings + 1))) ++doublings;
    const int64_t from = least << Between(0, doublings);
    return Between(from, std::min(most, 2 * from));
  }

  double Scaled(double least, double most) {
    int64_t doublings = 0;
    for (double at = least; at * 2 <= most; at *= 2) ++doublings;
    double from = least;
    for (int64_t i = Between(0, doublings); i > 0; --i) from *= 2;
    const double to = std::min(most, 2 * from);
    return from + (to - from) * static_cast<double>(Between(0, 1 << 20)) / (1 << 20);
  }

  template <typename T>
  T Among(std::initializer_list<T> values) {
    return values.begin()[Between(0, static_cast<int64_t>(values.size()) - 1)];
  }
  template <typename T>
  const T& Among(const std::vector<T>& values) {
    return values[static_cast<size_t>(Between(0, static_cast<int64_t>(values.size()) - 1))];
  }

 private:
  uint64_t state_;
};

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_DRAWS_H_
