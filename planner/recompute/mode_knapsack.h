// The knapsack problem behind recompute: groups of equal layers, one mode for each layer, and least
// time within a limit of bytes.
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
    bool counts = false;  // among equal times, fewer layers in such modes are better
  };
  struct Group {
    int64_t layers = 0;
    std::vector<Mode> modes;  // at least one; any order
  };
  struct Solution {
    int64_t time_ns = 0;
    int64_t counted = 0;
    std::vector<std::vector<int64_t>> layers;  // by group and mode; sums to Group::layers
    // If the work ran out (only in instances with many near ties), a lower bound on the time of
    // every solution.
    int64_t bound_ns = std::numeric_limits<int64_t>::max();
    int64_t undecided_ns() const { return std::max<int64_t>(0, time_ns - bound_ns); }
  };

  explicit ModeKnapsack(std::vector<Group> groups);

  // Replaces *best by a solution of least time, then least counted, whose bytes are at most
  // `limit`, if that is better than *best. Among solutions that tie in both, it takes the first in
  // a fixed order, in which groups in front take more. Returns false if no solution is better;
  // *best is then unchanged except for its bound. Exact within kNodesAtMost: branch and bound over
  // the count of each mode, bounded by the linear relaxation (Sinha and Zoltners 1979: per group
  // the lower convex hull of bytes saved and time, with all segments filled in order of time per
  // byte).
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
  // The part of a hull from one vertex to the next.
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
    std::vector<Option> options;  // those that save most first
    // Hulls of the options from each one on, cheapest byte first.
    std::vector<std::vector<Segment>> hulls;
  };
  class Branching;

  static Prepared Prepare(const Group& group);
  static std::vector<Segment> Hull(const std::vector<Option>& options, size_t from, int64_t layers);
  static bool Cheaper(const Segment& a, const Segment& b);

  std::vector<Prepared> groups_;
  // Segments of the groups from each one on, cheapest first.
  std::vector<std::vector<Segment>> behind_;
  int64_t base_time_ = 0, base_bytes_ = 0, base_counted_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_MODE_KNAPSACK_H_
