// The knapsack problem behind recompute: groups of equal layers, one mode for each layer, and least
// time within a limit of bytes.
#ifndef EVENKEEL_PLANNER_RECOMPUTE_MODE_KNAPSACK_H_
#define EVENKEEL_PLANNER_RECOMPUTE_MODE_KNAPSACK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace evenkeel::planner {

class ModeKnapsack {
 public:
  struct Mode {
    int64_t time_ns = 0;
    int64_t bytes = 0;
    bool counts = false;  // among equal times, fewer layers in such modes are better
  };

 private:
  // A mode that saves bytes over the kind's quickest.
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
    int64_t layers = 0;  // set where groups are merged
    size_t option = 0;   // at its end
  };

 public:
  // A kind of layers, prepared for any number of knapsacks.
  class Kind {
   public:
    // REQUIRES: at least one mode; any order.
    explicit Kind(const std::vector<Mode>& modes);

    int64_t quickest_ns() const { return base_.time_ns; }  // of one layer

   private:
    friend class ModeKnapsack;
    Mode base_;  // the quickest mode
    size_t base_at_ = 0, modes_ = 0;
    std::vector<Option> options_;  // those that save most first
    // For each option, the hull of that option and all after it, cheapest byte first.
    std::vector<std::vector<Segment>> hulls_;
  };

  struct Group {
    int64_t layers = 0;
    const Kind* kind = nullptr;  // must outlive the knapsack
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

  // The groups must outlive it.
  explicit ModeKnapsack(std::span<const Group> groups);

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
  // Facts about a group and all groups after it.
  struct Rest {
    size_t first_segment = 0, first_option = 0;  // in behind_, and in a list of all options
    int64_t most_saved = 0;                      // by one layer, at most
    bool may_uncount = false;                    // some option does not add to the count
  };
  class Branching;

  static std::vector<Segment> Hull(const std::vector<Option>& options, size_t from);
  static bool Cheaper(const Segment& a, const Segment& b);
  std::span<const Segment> Behind(size_t g) const {
    return std::span(behind_).subspan(rest_[g].first_segment,
                                      rest_[g - 1].first_segment - rest_[g].first_segment);
  }

  const std::span<const Group> groups_;
  std::vector<Rest> rest_;  // by group, and one more
  // Segments of the groups from each one but the first on, cheapest first; those of the last group
  // in front.
  std::vector<Segment> behind_;
  int64_t base_time_ = 0, base_bytes_ = 0, base_counted_ = 0;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_RECOMPUTE_MODE_KNAPSACK_H_
