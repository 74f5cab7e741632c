// A dataset cut by the lengths that the packs of a packing group may have: what each class of
// samples comes to, and what a mean pack of it holds.
#ifndef EVENKEEL_PLANNER_GROUPS_LENGTH_CLASSES_H_
#define EVENKEEL_PLANNER_GROUPS_LENGTH_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

// Sums over samples.
struct ClassSums {
  double samples = 0, units = 0, tokens = 0, squared = 0;
  int64_t longest = 0;  // tokens of the longest sample
  ClassSums& operator+=(const ClassSums& o);
};

// The class of samples longer than those of class `from` - 1 and no longer than length `to`, packed
// to length `to`, as if shorter samples filled what room is left.
struct ClassPacks {
  ClassSums own;
  double packs = 0;          // least number, proven
  double filler_tokens = 0;  // of shorter samples in them
  PackShape mean;            // of a pack
  PackShape largest;         // that must fit into memory
  Caps caps;
};

class LengthClasses {
 public:
  // Lengths: training.group_lengths below the longest sample (or powers of two from 8192), and the
  // longest sample rounded up to 128. The job must outlive it.
  explicit LengthClasses(const Job& job, const Stop& stop = {});

  const std::vector<int64_t>& lengths() const { return lengths_; }
  size_t size() const { return lengths_.size(); }

  // Samples longer than lengths()[from - 1], up to lengths()[to].
  ClassSums Sums(size_t from, size_t to) const;
  const ClassPacks& Packs(size_t from, size_t to) const { return packs_[from * size() + to]; }
  // The job's dataset without other samples.
  Dataset Samples(size_t from, size_t to) const;

 private:
  Caps CapsOf(size_t to) const;
  ClassPacks PacksOf(size_t from, size_t to) const;

  const Job& job_;
  const Stop stop_;
  std::vector<int64_t> lengths_;
  std::vector<ClassSums> sums_;    // between two lengths next to each other
  std::vector<ClassPacks> packs_;  // size x size
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_LENGTH_CLASSES_H_
