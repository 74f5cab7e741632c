// Time of every possible stage: segment [i, j) of the chain on stage s, with the least recompute
// that fits.
#ifndef EVENKEEL_PLANNER_PARTITION_SEGMENT_TABLE_H_
#define EVENKEEL_PLANNER_PARTITION_SEGMENT_TABLE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "planner/partition/segments.h"

namespace evenkeel::planner {

inline constexpr int64_t kNoPlan = std::numeric_limits<int64_t>::max() / 4;

class SegmentTable : public Segments {
 public:
  // `stop` may end it early; then complete() is false.
  SegmentTable(const Job& job, const LayerProfile& profile, const Parallelism& p,
               int64_t micro_batches, const std::function<bool()>& stop);

  bool complete() const { return complete_; }

  // T_s = forward + backward + least recompute + both p2p of the boundary behind it, ns; kNoPlan
  // where it does not fit or is not allowed. REQUIRES 0 <= i < j <= size.
  int64_t StageTime(int64_t s, int64_t i, int64_t j) const {
    return i < s || j > s + window() ? kNoPlan : times_[static_cast<size_t>(s)][Index(s, i, j)];
  }

 private:
  // In the triangle of stage s: begins in [s, s + window), ends behind them.
  static size_t Index(int64_t s, int64_t i, int64_t j) {
    const int64_t end = j - s;
    return static_cast<size_t>(end * (end - 1) / 2 + (i - s));
  }
  void Fill(const std::function<bool()>& stop);

  std::vector<std::vector<int64_t>> times_;  // by stage, then Index
  bool complete_ = false;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_SEGMENT_TABLE_H_
