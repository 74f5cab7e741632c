// The segments of which a partition better than an incumbent can consist, and bounds on such
// partitions.
#ifndef EVENKEEL_PLANNER_PARTITION_SEGMENT_POOL_H_
#define EVENKEEL_PLANNER_PARTITION_SEGMENT_POOL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/base/stop.h"
#include "planner/partition/segment_table.h"
#include "planner/partition/step_costs.h"
#include "planner/simulate/equal_packs.h"

namespace evenkeel::planner {

struct StageSegment {
  int64_t begin = 0, end = 0;
  StageTimes times;
  int64_t through = 0;  // SegmentPool::Through with the quickest stages after it
};

// Which recompute times a pool asks its table for: those of all segments within a stage's limit, or
// only those that a bound leaves. SegmentTable::met_unfit covers the segments that were asked for.
enum class SegmentsAsked { kAll, kOfUse };

// Every bound is the length of a path through the forwards and backwards of 1F1B, or the least such
// length over all ways to cut the rest of the chain: docs/ALGORITHMS.md, "Bounds".
class SegmentPool {
 public:
  // The least time that the stages in front of a stage add to a path, over all ways to cut them.
  // Each field is a separate minimum; the minima need not come from the same cut.
  struct Front {
    int64_t sum = kNoPlan;   // forwards, backwards and both sends of one pack
    int64_t fill = kNoPlan;  // forwards and sends of one pack
    // trips[q]: longest path through one of these stages that goes q times to the stages after them
    // and back, without the latter.
    std::array<int64_t, 3> trips{kNoPlan, kNoPlan, kNoPlan};
    std::array<int64_t, 2> after_all{};
  };

  // Holds all segments that a step below `limit` could have. The table and costs must outlive it.
  // If `stop` ends the work, stopped() is true from then on and nothing else is valid.
  SegmentPool(const SegmentTable& table, StepCosts& costs, int64_t limit, const Stop& stop = {},
              SegmentsAsked asked = SegmentsAsked::kAll);

  bool stopped() const { return stopped_; }

  // Repeatedly removes segments that no partition with a step below `limit` has, until none is
  // removed. Returns false if no partition is left, so that none is below the limit.
  bool Tighten(int64_t limit);

  // Returns a lower bound on the step of every partition of the segments left, or kNoPlan if there
  // is no partition.
  int64_t LowerBound() const { return lower_bound_; }

  int64_t stages() const { return stages_; }
  int64_t segments() const;

  // Returns the segments of stage s that end at j, in order of their begin.
  std::span<const StageSegment> Ending(int64_t s, int64_t j) const;
  // Returns the bounds of stages 0 ... s - 1 on the first i layers.
  const Front& At(int64_t s, int64_t i) const {
    return fronts_[static_cast<size_t>(s * positions_ + i)];
  }
  // Returns boundaries along which the bound of the later stages stays least: usually a good
  // partition. REQUIRES: a partition is left.
  std::vector<int64_t> Promising() const;

  // Returns the length of the longest known path through stage s, from its first forward on, if one
  // pack needs `round_trip` from the end of its forward there to the start of its backward.
  int64_t Through(int64_t s, const StageTimes& times, int64_t round_trip) const;

  // Returns a lower bound on the step if stages 0 ... s - 1 run the first i layers, the forwards,
  // backwards and sends of one pack through the stages after them add up to `behind`, and the
  // phases after all passes take `after_all` on those stages.
  int64_t StepBound(int64_t s, int64_t i, int64_t behind,
                    const std::array<int64_t, 2>& after_all) const;

 private:
  // The least that the stages from s on add to a path, as in Front.
  struct Back {
    int64_t sum = kNoPlan;
    int64_t longest = kNoPlan;  // longest path through one of them, from the first forward on
    int64_t next = 0;           // end of the first of them, where `longest` is least
    std::array<int64_t, 2> after_all{};
  };

  // Fills in the segments that may be of use, with the times of their passes.
  void Fill(const SegmentTable& table, int64_t limit, SegmentsAsked asked);
  // Returns the least p2p time of one pack, one way, after the first s stages together.
  std::vector<int64_t> LeastSends(const SegmentTable& table) const;
  // Returns a lower bound on the step of every partition in which stage s takes these times, and
  // one pack needs at least `front` before it and `back` after its send, both ways.
  int64_t PassesBound(int64_t s, const StageTimes& times, int64_t front, int64_t back) const;
  void FillFronts();
  void FillBacks();
  void IndexEnds();
  // Returns a lower bound on the step of every partition with this segment.
  int64_t Bound(int64_t s, const StageSegment& segment) const;
  Back& BackAt(int64_t s, int64_t j) { return backs_[static_cast<size_t>(s * positions_ + j)]; }
  const Back& BackAt(int64_t s, int64_t j) const {
    return backs_[static_cast<size_t>(s * positions_ + j)];
  }
  Front& FrontAt(int64_t s, int64_t i) { return fronts_[static_cast<size_t>(s * positions_ + i)]; }

  bool Stopped() { return stopped_ = stopped_ || stop_(); }

  const int64_t stages_, positions_, micro_batches_;
  std::vector<int64_t> trips_;  // by stage: how often its packs allow a trip to the end and back
  const Stop stop_;
  bool stopped_ = false;
  std::vector<std::vector<StageSegment>> segments_;  // by stage; sorted by end, then begin
  std::vector<std::vector<size_t>> first_;           // by stage and end, into segments_
  std::vector<Front> fronts_;
  std::vector<Back> backs_;
  int64_t lower_bound_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PARTITION_SEGMENT_POOL_H_
