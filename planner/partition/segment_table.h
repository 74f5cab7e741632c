// The times of all possible stages: of each segment [i, j) of the chain on each stage s, with the
// least recompute that fits.
#ifndef EVENKEEL_PLANNER_PARTITION_SEGMENT_TABLE_H_
#define EVENKEEL_PLANNER_PARTITION_SEGMENT_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "planner/base/stop.h"
#include "planner/partition/segments.h"

namespace evenkeel::planner {

inline constexpr int64_t kNoPlan = std::numeric_limits<int64_t>::max() / 4;

// Computes times on demand and keeps them. Not thread-safe.
class SegmentTable : public Segments {
 public:
  SegmentTable(const Job& job, const LayerProfile& profile, const Parallelism& p,
               int64_t micro_batches, const Stop& stop = {},
               MemoryLimit memory = MemoryLimit::kGpu);

  // StageTime and RecomputeTime throw Stopped if `stop` ends the work.

  // Returns T_s = forward + backward + least recompute + both p2p of the boundary after it, in ns,
  // or kNoPlan if it does not fit or is not allowed. REQUIRES: 0 <= i < j <= size.
  int64_t StageTime(int64_t s, int64_t i, int64_t j) const {
    const int64_t recompute = RecomputeTime(s, i, j);
    return recompute >= kNoPlan ? kNoPlan : LeastTime(s, i, j) + recompute;
  }

  // Returns only the least recompute, in ns, or kNoPlan as above. If it is too hard to find
  // exactly, returns a lower bound (RecomputeChoice::undecided_ns).
  int64_t RecomputeTime(int64_t s, int64_t i, int64_t j) const {
    if (i < s || j > s + window()) return kNoPlan;
    std::vector<int64_t>& times = times_[static_cast<size_t>(s)];
    if (times.empty()) MakeStage(times);
    int64_t& time = times[Index(s, i, j)];
    return time >= 0 ? time : time = Recomputed(s, i, j);
  }

  // Returns StageTime as if nothing were recomputed, without any search. REQUIRES: as StageTime.
  int64_t LeastTime(int64_t s, int64_t i, int64_t j) const {
    return WorkBefore(j) - WorkBefore(i) + 2 * SendTime(s, j);
  }

  // The segments [i, j) of one stage and end, for loops over i. REQUIRES: s <= i < j.
  class Ending {
   public:
    Ending(const SegmentTable& table, int64_t s, int64_t j)
        : table_(table), s_(s), j_(j), end_time_(table.WorkBefore(j) + 2 * table.SendTime(s, j)) {
      if (j > s + table.window()) return;
      std::vector<int64_t>& times = table.times_[static_cast<size_t>(s)];
      if (times.empty()) table.MakeStage(times);
      times_ = &times[Index(s, s, j)];
    }

    // SegmentTable's times of [i, j) on stage s.
    int64_t LeastTime(int64_t i) const { return end_time_ - table_.WorkBefore(i); }
    int64_t StageTime(int64_t i) const {
      if (times_ == nullptr) return kNoPlan;
      int64_t& time = times_[i - s_];
      if (time < 0) time = table_.Recomputed(s_, i, j_);
      return time >= kNoPlan ? kNoPlan : LeastTime(i) + time;
    }

   private:
    const SegmentTable& table_;
    const int64_t s_, j_;
    const int64_t end_time_;    // WorkBefore(j) and the sends
    int64_t* times_ = nullptr;  // from i = s on; none if the end leaves too few layers
  };

  // Returns whether some segment that was asked for did not fit.
  bool met_unfit() const {
    return std::any_of(unfit_.begin(), unfit_.end(), [&](int64_t j) { return j <= size(); });
  }

 private:
  // Returns the index in the triangle of stage s, whose segments begin in [s, s + window).
  static size_t Index(int64_t s, int64_t i, int64_t j) {
    const int64_t end = j - s;
    return static_cast<size_t>(end * (end - 1) / 2 + (i - s));
  }
  int64_t Recomputed(int64_t s, int64_t i, int64_t j) const;
  void MakeStage(std::vector<int64_t>& times) const;

  // Units of Stop::Spend for one search of the least recompute: hard ones take a millisecond.
  static constexpr int64_t kUnitsPerRecompute = 20'000;

  const bool depends_on_place_;  // true if recompute depends on a segment's place in the chain
  const Stop stop_;
  // Least recompute by stage, then Index; negative if not computed yet. A stage's values are
  // allocated when they are first asked for.
  mutable std::vector<std::vector<int64_t>> times_;
  // By stage and begin: the first end known not to fit. Longer segments do not fit either.
  mutable std::vector<int64_t> unfit_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_SEGMENT_TABLE_H_
