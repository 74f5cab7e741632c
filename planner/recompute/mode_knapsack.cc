#include "planner/recompute/mode_knapsack.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/base/integers.h"

namespace evenkeel::planner {

ModeKnapsack::ModeKnapsack(std::span<const Group> groups)
    : groups_(groups), rest_(groups.size() + 1) {
  size_t segments = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto& [layers, kind] = groups[g];
    base_time_ += layers * kind->base_.time_ns;
    base_bytes_ += layers * kind->base_.bytes;
    base_counted_ += kind->base_.counts ? layers : 0;
    rest_[g + 1].first_option = rest_[g].first_option + kind->options_.size();
    segments += g * kind->hulls_.front().size();
  }
  behind_.reserve(segments);
  for (size_t g = groups.size(); g-- > 0;) {
    const Kind& kind = *groups[g].kind;
    Rest& rest = rest_[g];
    rest.first_segment = behind_.size();
    rest.most_saved = rest_[g + 1].most_saved, rest.may_uncount = rest_[g + 1].may_uncount;
    for (const Option& option : kind.options_) {
      rest.most_saved = std::max(rest.most_saved, option.saved);
      rest.may_uncount = rest.may_uncount || option.counted < 1;
    }
    if (g == 0) break;
    std::span<const Segment> own = kind.hulls_.front(), later = Behind(g + 1);
    while (!own.empty() || !later.empty()) {
      // Among equal segments, those of the group in front come first.
      const bool mine = later.empty() || (!own.empty() && !Cheaper(later.front(), own.front()));
      std::span<const Segment>& from = mine ? own : later;
      behind_.push_back(from.front());
      if (mine) behind_.back().layers = groups[g].layers;
      from = from.subspan(1);
    }
  }
}

bool ModeKnapsack::Cheaper(const Segment& a, const Segment& b) {
  return Wide{a.time} * b.saved < Wide{b.time} * a.saved;
}

ModeKnapsack::Kind::Kind(const std::vector<Mode>& modes) : modes_(modes.size()) {
  std::vector<size_t> order(modes.size());
  for (size_t q = 0; q < order.size(); ++q) order[q] = q;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(modes[a].time_ns, modes[a].counts) <
           std::pair(modes[b].time_ns, modes[b].counts);
  });
  base_at_ = order.front();
  base_ = modes[base_at_];
  int64_t least = base_.bytes;
  // Goes from the quickest on: a mode that takes longer and saves no more is never needed.
  for (const size_t q : order) {
    const Mode& mode = modes[q];
    if (mode.bytes >= least) continue;
    least = mode.bytes;
    options_.push_back({q, base_.bytes - mode.bytes, mode.time_ns - base_.time_ns,
                        (mode.counts ? 1 : 0) - (base_.counts ? 1 : 0)});
  }
  std::reverse(options_.begin(), options_.end());
  for (size_t from = 0; from <= options_.size(); ++from) hulls_.push_back(Hull(options_, from));
}

std::vector<ModeKnapsack::Segment> ModeKnapsack::Hull(const std::vector<Option>& options,
                                                      size_t from) {
  std::vector<Segment> hull;
  int64_t saved = 0, time = 0;  // of the last vertex
  for (size_t o = options.size(); o-- > from;) {
    Segment next{options[o].saved - saved, options[o].time - time, 0, o};
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
  Branching(const ModeKnapsack& problem, Solution* best)
      : problem_(problem), best_(best), taken_(problem.rest_.back().first_option) {}

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
    std::fill(taken_.begin(), taken_.end(), 0);
    for (size_t g = 0; g < problem_.groups_.size(); ++g) {
      if (OptionsOf(g).empty()) continue;
      const Option& most = OptionsOf(g).front();
      const int64_t all = problem_.groups_[g].layers;
      Taken(g, 0) = all;
      time += all * most.time;
      counted += all * most.counted;
    }
    Offer(time, counted);
  }

  // The options of group g from o on, for `left` layers, and all groups after it must save `excess`
  // bytes. Returns false if all solutions from here take longer than *best_ or save too little.
  bool Dive(size_t g, size_t o, int64_t left, int64_t excess, int64_t time, int64_t counted) {
    if (excess <= 0) {
      if (time > best_->time_ns) return false;
      Offer(time, counted);
      return true;
    }
    while (g < problem_.groups_.size() && (left == 0 || o == OptionsOf(g).size())) {
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
    const Option& option = OptionsOf(g)[o];
    int64_t& count = Taken(g, o);
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
    const std::vector<Segment>& own = problem_.groups_[g].kind->hulls_[o];
    const std::span<const Segment> behind = problem_.Behind(g + 1);
    Relaxation r{.most_saved = problem_.rest_[g].most_saved,
                 .may_uncount = problem_.rest_[g].may_uncount};
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
    best_->layers.resize(problem_.groups_.size());
    for (size_t g = 0; g < problem_.groups_.size(); ++g) {
      const auto& [all, kind] = problem_.groups_[g];
      std::vector<int64_t>& layers = best_->layers[g];
      layers.assign(kind->modes_, 0);
      layers[kind->base_at_] = all;
      for (size_t o = 0; o < kind->options_.size(); ++o) {
        layers[kind->options_[o].mode] += Taken(g, o);
        layers[kind->base_at_] -= Taken(g, o);
      }
    }
  }

  const std::vector<Option>& OptionsOf(size_t g) const {
    return problem_.groups_[g].kind->options_;
  }
  int64_t& Taken(size_t g, size_t o) { return taken_[problem_.rest_[g].first_option + o]; }

  const ModeKnapsack& problem_;
  Solution* const best_;
  std::vector<int64_t> taken_;  // by group and option
  bool improved_ = false;
  int64_t nodes_left_ = kNodesAtMost;
};

bool ModeKnapsack::Improve(int64_t limit, Solution* best) const {
  if (base_time_ > best->time_ns) return false;
  return Branching(*this, best).Run(base_bytes_ - limit, base_time_, base_counted_);
}

}  // namespace evenkeel::planner
