// GreedyFill: fills the room that packs of long samples leave with short samples, longest first.
#ifndef EVENKEEL_PLANNER_PACKING_GREEDY_FILL_H_
#define EVENKEEL_PLANNER_PACKING_GREEDY_FILL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/packing/next_left.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_types.h"
#include "planner/packing/type_order.h"

namespace evenkeel::planner {

class GreedyFill {
 public:
  // `sorted` are the samples to fill with, by type; not owned.
  explicit GreedyFill(const SortedSamples& sorted);

  bool empty() const { return left_ == 0; }
  // Adds to the open pack, repeatedly, the sample with the most tokens that fits (among equals, the
  // one with the most units), and all samples of its type that fit. Only the 64 largest numbers of
  // units that fit and are left are examined.
  void Fill(int64_t units_left, int64_t tokens_left, Packing& packing);

 private:
  // Types of equal units, by place: descending in tokens.
  struct Level {
    int32_t units = 0;
    size_t begin = 0, end = 0;
    int64_t left = 0;  // number of samples
  };

  size_t TypeAt(size_t place) const { return types_.size() - 1 - place; }
  SampleType& At(size_t place) { return types_[TypeAt(place)]; }
  // Returns the first place of a level that has samples left and fits, or the level's end if there
  // is none.
  size_t Longest(const Level& level, int64_t tokens_left);

  SampleTypes types_;  // with the samples left of each
  SamplesByType samples_;
  std::vector<Level> levels_;  // descending in units; only those with samples left
  NextLeft places_;
  int64_t left_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_GREEDY_FILL_H_
