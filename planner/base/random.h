// A small generator with a documented sequence: the same on every platform and compiler, unlike
// <random>'s distributions. SplitMix64 (Steele, Lea, Flood 2014).
#ifndef EVENKEEL_PLANNER_BASE_RANDOM_H_
#define EVENKEEL_PLANNER_BASE_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace evenkeel::planner {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Returns a value in [0, bound), for bound > 0. The modulo's bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) { return Next() % bound; }

  // Shuffles by Fisher-Yates.
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_RANDOM_H_
