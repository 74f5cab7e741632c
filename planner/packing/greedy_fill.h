// GreedyFill: the room that packs of long samples leave goes to short ones, longest first.
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
  // The samples to fill with, by type; not owned.
  explicit GreedyFill(const SortedSamples& sorted);

  bool empty() const { return left_ == 0; }
  // Adds to the open pack, over and over, the sample with the most tokens that fits, of those the
  // one with the most units, and as many of its type as fit. Of the numbers of units that fit and
  // are left, only the 64 largest are looked at.
  void Fill(int64_t units_left, int64_t tokens_left, Packing& packing);

 private:
  // Types of equal units, by place: descending in tokens.
  struct Level {
    int32_t units = 0;
    size_t begin = 0, end = 0;
    int64_t left = 0;  // samples
  };

  size_t TypeAt(size_t place) const { return types_.size() - 1 - place; }
  SampleType& At(size_t place) { return types_[TypeAt(place)]; }
  // First place of a level that is left and fits; its end where there is none.
  size_t Longest(const Level& level, int64_t tokens_left);

  SampleTypes types_;  // with how many of each are left
  SamplesByType samples_;
  std::vector<Level> levels_;  // descending in units; only those with samples left
  NextLeft places_;
  int64_t left_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_GREEDY_FILL_H_
