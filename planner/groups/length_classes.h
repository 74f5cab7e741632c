// Divides a dataset by the lengths that the packs of a packing group may have, and gives the sums
// and the mean pack of each class of samples.
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

struct ClassSums {
  double samples = 0;
  PackShape sum;  // of the samples as packs of their own
  double scaled_units = 0;
  int64_t longest = 0;  // tokens of the longest sample
  ClassSums& operator+=(const ClassSums& o);
};

// The class of samples longer than length `from` - 1 and no longer than length `to`, packed to
// length `to`, as if shorter samples filled the room that is left.
struct ClassPacks {
  ClassSums own;
  double packs = 0;          // proven lower bound on the number of packs
  double filler_tokens = 0;  // tokens of shorter samples in the packs
  PackShape mean;            // the mean pack
  PackShape largest;         // the pack that must fit in memory
  Caps caps;
};

class LengthClasses {
 public:
  // The lengths are training.group_lengths below the longest sample (or powers of two from 8192),
  // and the longest sample rounded up to a multiple of 128. The job must outlive it.
  explicit LengthClasses(const Job& job, const Stop& stop = {});

  const std::vector<int64_t>& lengths() const { return lengths_; }
  size_t size() const { return lengths_.size(); }

  // Returns the sums over samples longer than lengths()[from - 1] and up to lengths()[to].
  ClassSums Sums(size_t from, size_t to) const;
  const ClassPacks& Packs(size_t from, size_t to) const { return packs_[from * size() + to]; }
  // Returns the job's dataset with only these samples.
  Dataset Samples(size_t from, size_t to) const;

 private:
  Caps CapsOf(size_t to) const;
  ClassPacks PacksOf(size_t from, size_t to) const;

  const Job& job_;
  const Stop stop_;
  std::vector<int64_t> lengths_;
  std::vector<ClassSums> sums_;    // between adjacent lengths
  std::vector<ClassPacks> packs_;  // size x size
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_GROUPS_LENGTH_CLASSES_H_
