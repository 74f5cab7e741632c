// A set of the places 0 .. n - 1, which are used up one by one. It finds the first place that is
// left, from any place on.
#ifndef EVENKEEL_PLANNER_PACKING_NEXT_LEFT_H_
#define EVENKEEL_PLANNER_PACKING_NEXT_LEFT_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace evenkeel::planner {

// Union-find with path halving: each call takes nearly constant time.
class NextLeft {
 public:
  explicit NextLeft(size_t n) : next_(n + 1) { std::iota(next_.begin(), next_.end(), 0u); }

  // Returns the first place left from `place` on, or n if none is left.
  size_t From(size_t place) {
    while (next_[place] != place) place = next_[place] = next_[next_[place]];
    return place;
  }
  void Remove(size_t place) { next_[place] = static_cast<uint32_t>(place + 1); }

 private:
  std::vector<uint32_t> next_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_NEXT_LEFT_H_
