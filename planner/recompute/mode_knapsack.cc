#include "planner/recompute/mode_knapsack.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace evenkeel::planner {
namespace {

__extension__ using Wide = __int128;

}  // namespace

ModeKnapsack::ModeKnapsack(std::vector<Group> groups) {
  for (const Group& group : groups) {
    groups_.push_back(Prepare(group));
    const Mode& base = group.modes[groups_.back().base];
    base_time_ += group.layers * base.time_ns;
    base_bytes_ += group.layers * base.bytes;
    base_counted_ += base.counts ? group.layers : 0;
  }
  behind_.resize(groups_.size() + 1);
  for (size_t g = groups_.size(); g-- > 0;) {
    // The merge is stable: among equal segments, those of the group in front come first.
    const std::vector<Segment>& own = groups_[g].hulls.front();
    std::merge(own.begin(), own.end(), behind_[g + 1].begin(), behind_[g + 1].end(),
               std::back_inserter(behind_[g]), Cheaper);
  }
}

bool ModeKnapsack::Cheaper(const Segment& a, const Segment& b) {
  return Wide{a.time} * b.saved < Wide{b.time} * a.saved;
}

ModeKnapsack::Prepared ModeKnapsack::Prepare(const Group& group) {
  Prepared prepared{.layers = group.layers, .base = 0, .modes = group.modes.size()};
  std::vector<size_t> order(group.modes.size());
  for (size_t q = 0; q < order.size(); ++q) order[q] = q;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Mode &x = group.modes[a], &y = group.modes[b];
    return std::pair(x.time_ns, x.counts) < std::pair(y.time_ns, y.counts);
  });
  prepared.base = order.front();
  const Mode& base = group.modes[prepared.base];
  int64_t least = base.bytes;
  // Goes from the quickest on: a mode that takes longer and saves no more is never needed.
  for (const size_t q : order) {
    const Mode& mode = group.modes[q];
    if (mode.bytes >= least) continue;
    least = mode.bytes;
    prepared.options.push_back({q, base.bytes - mode.bytes, mode.time_ns - base.time_ns,
                                (mode.counts ? 1 : 0) - (base.counts ? 1 : 0)});
  }
  std::reverse(prepared.options.begin(), prepared.options.end());
  for (size_t from = 0; from <= prepared.options.size(); ++from)
    prepared.hulls.push_back(Hull(prepared.options, from, group.layers));
  return prepared;
}

std::vector<ModeKnapsack::Segment> ModeKnapsack::Hull(const std::vector<Option>& options,
                                                      size_t from, int64_t layers) {
  std::vector<Segment> hull;
  int64_t saved = 0, time = 0;  // of the last vertex
  for (size_t o = options.size(); o-- > from;) {
    Segment next{options[o].saved - saved, options[o].time - time, layers, o};
    // A point above the line to the next one is not a vertex.
    while (!hull.empty() && !Cheaper(hull.back(), next)) {
      next.saved += hull.back().saved, next.time += hull.back().time;
      hull.pop_back();
    }
    hull.push_back(next);
    saved = options[o].saved, time = options[o].time;
  }
  return hull;
}

class ModeKnapsack::Branching {
 public:
  Branching(const ModeKnapsack& problem, Solution* best) : problem_(problem), best_(best) {
    for (const Prepared& g : problem.groups_) taken_.emplace_back(g.options.size(), 0);
  }

  // Returns whether a better solution was found.
  bool Run(int64_t excess, int64_t time, int64_t counted) {
    const int64_t layers = problem_.groups_.empty() ? 0 : problem_.groups_[0].layers;
    Dive(0, 0, layers, excess, time, counted);
    if (nodes_left_ < 0) OutOfWork(layers, excess, time, counted);
    return improved_;
  }

 private:
  struct Relaxation {
    bool feasible = false;
    int64_t time = 0;          // rounded up
    int64_t most_saved = 0;    // by one layer, at most
    int64_t here = 0;          // whole layers in the option to branch on
    bool may_uncount = false;  // some option does not add to the count
  };

  // Solutions that were not examined take at least as long as the relaxation. If one fits, then so
  // does the one with all layers in the modes that save most.
  void OutOfWork(int64_t layers, int64_t excess, int64_t time, int64_t counted) {
    const Relaxation relaxed = Relax(0, 0, layers, excess);
    best_->bound_ns = std::min(best_->bound_ns, time + relaxed.time);
    if (!relaxed.feasible || !best_->layers.empty()) return;
    for (size_t g = 0; g < taken_.size(); ++g) {
      if (taken_[g].empty()) continue;
      const Option& most = problem_.groups_[g].options.front();
      std::fill(taken_[g].begin(), taken_[g].end(), 0);
      taken_[g].front() = problem_.groups_[g].layers;
      time += taken_[g].front() * most.time;
      counted += taken_[g].front() * most.counted;
    }
    Offer(time, counted);
  }

  // The options of group g from o on, for `left` layers, and all groups behind it must save
  // `excess` bytes. Returns false if all solutions from here take longer than *best_ or save too
  // little.
  bool Dive(size_t g, size_t o, int64_t left, int64_t excess, int64_t time, int64_t counted) {
    if (excess <= 0) {
      if (time > best_->time_ns) return false;
      Offer(time, counted);
      return true;
    }
    while (g < problem_.groups_.size() && (left == 0 || o == problem_.groups_[g].options.size())) {
      if (++g == problem_.groups_.size()) return false;
      o = 0, left = problem_.groups_[g].layers;
    }
    if (g >= problem_.groups_.size() || --nodes_left_ < 0) return false;
    const Relaxation relaxed = Relax(g, o, left, excess);
    if (!relaxed.feasible || time + relaxed.time > best_->time_ns) return false;
    if (time + relaxed.time == best_->time_ns && !relaxed.may_uncount &&
        counted + (excess + relaxed.most_saved - 1) / relaxed.most_saved >= best_->counted)
      return true;
    // The relaxation is convex in this count, so it only gets worse away from its optimum.
    const Option& option = problem_.groups_[g].options[o];
    int64_t& count = taken_[g][o];
    const auto branch = [&](int64_t n) {
      count = n;
      return Dive(g, o + 1, left - n, excess - n * option.saved, time + n * option.time,
                  counted + n * option.counted);
    };
    const int64_t enough = (excess + option.saved - 1) / option.saved;
    for (int64_t n = relaxed.here + 1; n <= std::min(left, enough) && branch(n); ++n) {
    }
    for (int64_t n = std::min(relaxed.here, enough); n >= 0 && branch(n); --n) {
    }
    count = 0;
    return true;
  }

  Relaxation Relax(size_t g, size_t o, int64_t left, int64_t excess) const {
    const std::vector<Segment>& own = problem_.groups_[g].hulls[o];
    const std::vector<Segment>& behind = problem_.behind_[g + 1];
    Relaxation r;
    for (const Option& option : problem_.groups_[g].options) {
      r.most_saved = std::max(r.most_saved, option.saved);
      r.may_uncount = r.may_uncount || option.counted < 1;
    }
    for (size_t later = g + 1; later < problem_.groups_.size(); ++later) {
      for (const Option& option : problem_.groups_[later].options) {
        r.most_saved = std::max(r.most_saved, option.saved);
        r.may_uncount = r.may_uncount || option.counted < 1;
      }
    }
    size_t a = 0, b = 0;
    while (a < own.size() || b < behind.size()) {
      const bool mine = b == behind.size() || (a < own.size() && !Cheaper(behind[b], own[a]));
      const Segment& s = mine ? own[a++] : behind[b++];
      const int64_t layers = mine ? left : s.layers;
      const bool last = excess <= layers * s.saved;
      const int64_t whole = last ? excess / s.saved : layers;
      if (mine && s.option == o) r.here = whole;
      // Layers that go on to the next vertex leave this one; `own` ends at option o if it is a
      // vertex.
      if (last) {
        r.time += static_cast<int64_t>((Wide{excess} * s.time + s.saved - 1) / s.saved);
        r.feasible = true;
        return r;
      }
      r.time += layers * s.time;
      excess -= layers * s.saved;
    }
    return r;
  }

  void Offer(int64_t time, int64_t counted) {
    if (std::pair(time, counted) >= std::pair(best_->time_ns, best_->counted)) return;
    improved_ = true;
    best_->time_ns = time, best_->counted = counted;
    best_->layers.clear();
    for (size_t g = 0; g < taken_.size(); ++g) {
      const Prepared& group = problem_.groups_[g];
      std::vector<int64_t> layers(group.modes, 0);
      layers[group.base] = group.layers;
      for (size_t o = 0; o < taken_[g].size(); ++o) {
        layers[group.options[o].mode] += taken_[g][o];
        layers[group.base] -= taken_[g][o];
      }
      best_->layers.push_back(std::move(layers));
    }
  }

  const ModeKnapsack& problem_;
  Solution* const best_;
  std::vector<std::vector<int64_t>> taken_;  // by group and option
  bool improved_ = false;
  int64_t nodes_left_ = kNodesAtMost;
};

bool ModeKnapsack::Improve(int64_t limit, Solution* best) const {
  if (base_time_ > best->time_ns) return false;
  return Branching(*this, best).Run(base_bytes_ - limit, base_time_, base_counted_);
}

}  // namespace evenkeel::planner
