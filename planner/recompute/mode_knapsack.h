// The knapsack behind recompute: groups of equal layers, a mode for each layer, least time within a
// limit of bytes.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_MODE_KNAPSACK_H_
#define EVENKEEL_PLANNER_RECOMPUTE_MODE_KNAPSACK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace evenkeel::planner {

class ModeKnapsack {
 public:
  struct Mode {
    int64_t time_ns = 0;
    int64_t bytes = 0;
    bool counts = false;  // layers in it count where times tie: fewer are better
  };
  struct Group {
    int64_t layers = 0;
    std::vector<Mode> modes;  // at least one; any order
  };
  struct Solution {
    int64_t time_ns = 0;
    int64_t counted = 0;
    std::vector<std::vector<int64_t>> layers;  // by group and mode; sums to Group::layers
    // Where the work ran out, which takes instances of many near ties: no solution takes less.
    int64_t bound_ns = std::numeric_limits<int64_t>::max();
    int64_t undecided_ns() const { return std::max<int64_t>(0, time_ns - bound_ns); }
  };

  explicit ModeKnapsack(std::vector<Group> groups);

  // Replaces *best by a solution of least time, then least counted, whose bytes are at most
  // `limit`, if it is better than *best; what ties in both is the first in a fixed order, in which
  // groups in front take more. False: none is, and but for its bound *best is unchanged. Exact
  // within kNodesAtMost: bound and branch over the count of each mode, bounded by the linear
  // relaxation (Sinha and Zoltners 1979: per group the lower convex hull of bytes saved and time,
  // all segments filled in order of time per byte).
  bool Improve(int64_t limit, Solution* best) const;
  static constexpr int64_t kNodesAtMost = 1'000;

 private:
  // A mode that saves bytes over the group's quickest.
  struct Option {
    size_t mode = 0;
    int64_t saved = 0;
    int64_t time = 0;
    int64_t counted = 0;
  };
  // From one vertex of a hull to the next.
  struct Segment {
    int64_t saved = 0;
    int64_t time = 0;
    int64_t layers = 0;
    size_t option = 0;  // at its end
  };
  struct Prepared {
    int64_t layers = 0;
    size_t base = 0;  // the quickest mode
    size_t modes = 0;
    std::vector<Option> options;              // what saves most first
    std::vector<std::vector<Segment>> hulls;  // of the options from each on; cheapest byte first
  };
  class Branching;

  static Prepared Prepare(const Group& group);
  static std::vector<Segment> Hull(const std::vector<Option>& options, size_t from, int64_t layers);
  static bool Cheaper(const Segment& a, const Segment& b);

  std::vector<Prepared> groups_;
  std::vector<std::vector<Segment>> behind_;  // segments of the groups from each on, cheapest first
  int64_t base_time_ = 0, base_bytes_ = 0, base_counted_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_MODE_KNAPSACK_H_
