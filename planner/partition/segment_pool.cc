#include "planner/partition/segment_pool.h"

#include <algorithm>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// Shorter than any path, but not so short that sums overflow.
constexpr int64_t kNoPath = -kNoPlan;

}  // namespace

SegmentPool::SegmentPool(const SegmentTable& table, StepCosts& costs, int64_t limit,
                         const Stop& stop, SegmentsAsked asked)
    : stages_(table.stages()),
      positions_(table.size() + 1),
      micro_batches_(table.micro_batches()),
      stop_(stop),
      segments_(static_cast<size_t>(stages_)) {
  for (int64_t s = 0; s < stages_; ++s) trips_.push_back((micro_batches_ - 1) / (stages_ - s));
  Fill(table, limit, asked);
  // Passes alone leave most pools empty, and they cost less to compute than the exchange.
  if (stopped_ || !Tighten(limit)) return;
  for (int64_t s = 0; s < stages_; ++s) {
    for (StageSegment& segment : segments_[static_cast<size_t>(s)])
      segment.times = costs.At(s, segment.begin, segment.end);
  }
  Tighten(limit);
}

void SegmentPool::Fill(const SegmentTable& table, int64_t limit, SegmentsAsked asked) {
  // The pipeline cannot be quicker than all packs on one stage.
  const int64_t stage_limit = (limit - 1) / micro_batches_;
  const int64_t work = table.WorkBefore(table.size());
  // Returns the most work that this many stages do.
  const auto most = [&](int64_t stages) {
    return stages > 0 ? CappedProduct(stage_limit, stages) : 0;
  };
  const std::vector<int64_t> sends = LeastSends(table);  // after the stages up to each one
  std::vector<bool> reached(static_cast<size_t>(positions_)), next;  // by the stages in front
  reached[0] = true;
  for (int64_t s = 0; s < stages_ && table.window() >= 1; ++s) {
    if (Stopped()) return;
    next.assign(reached.size(), false);
    const int64_t in_front = most(s), behind = most(stages_ - 1 - s);
    int64_t first = s;
    for (int64_t j = s + 1; j <= s + table.window(); ++j) {
      const int64_t rest = work - table.WorkBefore(j);
      if (rest > behind) continue;
      const int64_t send = table.SendTime(s, j);
      while (first < j && table.WorkBefore(j) - table.WorkBefore(first) > stage_limit) ++first;
      for (int64_t i = first; i < j && table.WorkBefore(i) <= in_front; ++i) {
        if (asked == SegmentsAsked::kOfUse && !reached[static_cast<size_t>(i)]) continue;
        const int64_t forward = table.ForwardBefore(j) - table.ForwardBefore(i);
        const int64_t both = table.WorkBefore(j) - table.WorkBefore(i);
        StageTimes times{.forward = forward, .backward = both - forward, .send = send};
        const auto too_long = [&] {
          return PassesBound(s, times, table.WorkBefore(i) + 2 * sends[static_cast<size_t>(s)],
                             rest + 2 * (sends.back() - sends[static_cast<size_t>(s) + 1])) >=
                 limit;
        };
        if (asked == SegmentsAsked::kOfUse && too_long()) continue;
        const int64_t recompute = table.RecomputeTime(s, i, j);
        if (recompute >= kNoPlan) continue;
        times.backward += recompute;
        if ((recompute > 0 || asked == SegmentsAsked::kAll) && too_long()) continue;
        segments_[static_cast<size_t>(s)].push_back({i, j, times});
        next[static_cast<size_t>(j)] = true;
      }
    }
    reached.swap(next);
  }
}

std::vector<int64_t> SegmentPool::LeastSends(const SegmentTable& table) const {
  std::vector<int64_t> sends{0};
  for (int64_t s = 0; s < stages_; ++s) {
    int64_t least = kNoPlan;
    for (int64_t j = s + 1; j <= s + table.window(); ++j)
      least = std::min(least, table.SendTime(s, j));
    sends.push_back(sends.back() + (table.window() < 1 ? 0 : least));
  }
  return sends;
}

int64_t SegmentPool::PassesBound(int64_t s, const StageTimes& times, int64_t front,
                                 int64_t back) const {
  const int64_t behind = 2 * times.send + back;
  // The way of one pack through all stages and back, once for every P packs.
  const int64_t trips = (trips_.front() + 1) * (front + times.total() + behind);
  return std::max(front + Through(s, times, behind), trips);
}

bool SegmentPool::Tighten(int64_t limit) {
  for (bool changed = true; changed;) {
    changed = false;
    FillBacks();
    if (Stopped()) return false;
    if (BackAt(0, 0).sum >= kNoPlan) {
      lower_bound_ = kNoPlan;
      return false;
    }
    FillFronts();
    lower_bound_ = 0;
    for (int64_t s = 0; s < stages_; ++s) {
      if (Stopped()) return false;
      std::vector<StageSegment>& segments = segments_[static_cast<size_t>(s)];
      stop_.Spend(static_cast<int64_t>(20 * segments.size()));
      int64_t least = kNoPlan;
      const size_t gone = std::erase_if(segments, [&](const StageSegment& segment) {
        const int64_t bound = Bound(s, segment);
        least = std::min(least, bound);
        return bound >= limit;
      });
      // Every partition has one segment of each stage.
      lower_bound_ = std::max(lower_bound_, least);
      changed = changed || gone > 0;
    }
  }
  IndexEnds();
  return true;
}

void SegmentPool::IndexEnds() {
  first_.assign(static_cast<size_t>(stages_), {});
  for (int64_t s = 0; s < stages_; ++s) {
    const std::vector<StageSegment>& segments = segments_[static_cast<size_t>(s)];
    size_t at = 0;
    for (int64_t end = 0; end <= positions_; ++end) {
      while (at < segments.size() && segments[at].end < end) ++at;
      first_[static_cast<size_t>(s)].push_back(at);
    }
  }
}

int64_t SegmentPool::segments() const {
  size_t count = 0;
  for (const auto& of_stage : segments_) count += of_stage.size();
  return static_cast<int64_t>(count);
}

std::span<const StageSegment> SegmentPool::Ending(int64_t s, int64_t j) const {
  const std::vector<size_t>& first = first_[static_cast<size_t>(s)];
  const size_t from = first[static_cast<size_t>(j)], to = first[static_cast<size_t>(j) + 1];
  return std::span(segments_[static_cast<size_t>(s)]).subspan(from, to - from);
}

int64_t SegmentPool::Through(int64_t s, const StageTimes& times, int64_t round_trip) const {
  const int64_t m = micro_batches_, behind = std::min(m, stages_ - 1 - s);
  const int64_t forward = times.forward, backward = times.backward, total = times.total();
  // The path takes either all packs one by one, or one pack that goes to the end and back, first or
  // last. In the latter case it skips the forwards or backwards of the others in flight.
  int64_t longest = m * total;
  if (behind == 0) return longest;
  const int64_t seen = std::max<int64_t>(1, m - behind);
  longest = std::max(longest, round_trip + m * backward + seen * forward);
  longest = std::max(longest, round_trip + m * forward + seen * backward);
  // The path may also take trips both first and last, and in between as often as the packs allow: P
  // - s of them pass during each trip.
  const int64_t most = trips_[static_cast<size_t>(s)];
  for (const int64_t trips : {int64_t{1}, most}) {
    if (trips >= 1 && trips <= most)
      longest = std::max(longest, (trips + 1) * round_trip + (m - trips * behind) * total);
  }
  return longest;
}

void SegmentPool::FillBacks() {
  backs_.assign(static_cast<size_t>((stages_ + 1) * positions_), Back{});
  BackAt(stages_, positions_ - 1) = Back{.sum = 0, .longest = 0};
  for (int64_t s = stages_ - 1; s >= 0; --s) {
    stop_.Spend(static_cast<int64_t>(20 * segments_[static_cast<size_t>(s)].size()));
    for (StageSegment& segment : segments_[static_cast<size_t>(s)]) {
      const Back& rest = BackAt(s + 1, segment.end);
      if (rest.sum >= kNoPlan) continue;
      const int64_t sends = 2 * segment.times.send, total = segment.times.total();
      segment.through = Through(s, segment.times, sends + rest.sum);
      Back& back = BackAt(s, segment.begin);
      const bool first = back.sum >= kNoPlan;
      back.sum = std::min(back.sum, total + sends + rest.sum);
      const int64_t longest = std::max(segment.through, total + sends + rest.longest);
      if (longest < back.longest) back.longest = longest, back.next = segment.end;
      for (size_t i = 0; i < back.after_all.size(); ++i) {
        const int64_t after = std::max(segment.times.after_all[i], rest.after_all[i]);
        back.after_all[i] = first ? after : std::min(back.after_all[i], after);
      }
    }
  }
}

std::vector<int64_t> SegmentPool::Promising() const {
  std::vector<int64_t> boundaries{0};
  for (int64_t s = 0; s < stages_; ++s) boundaries.push_back(BackAt(s, boundaries.back()).next);
  return boundaries;
}

void SegmentPool::FillFronts() {
  fronts_.assign(static_cast<size_t>((stages_ + 1) * positions_), Front{});
  FrontAt(0, 0) = Front{.sum = 0, .fill = 0, .trips = {0, 0, kNoPath}};
  const int64_t m = micro_batches_;
  for (int64_t s = 0; s < stages_; ++s) {
    const std::vector<StageSegment>& segments = segments_[static_cast<size_t>(s)];
    const int64_t behind = std::min(m, stages_ - 1 - s), seen = std::max<int64_t>(1, m - behind);
    stop_.Spend(static_cast<int64_t>(20 * segments.size()));
    for (const StageSegment& segment : segments) {
      const Front& before = At(s, segment.begin);
      if (before.sum >= kNoPlan) continue;
      const StageTimes& times = segment.times;
      const int64_t sends = 2 * times.send, total = times.total(), through = total + sends;
      Front& front = FrontAt(s + 1, segment.end);
      const bool first = front.sum >= kNoPlan;
      front.sum = std::min(front.sum, before.sum + through);
      front.fill = std::min(front.fill, before.fill + times.forward + times.send);
      const int64_t once = std::max(m * times.backward + seen * times.forward,
                                    m * times.forward + seen * times.backward);
      const std::array<int64_t, 3> own{
          m * total, once + sends, m > stages_ - s ? (m - behind) * total + 2 * sends : kNoPath};
      for (size_t trips = 0; trips < own.size(); ++trips) {
        const int64_t longest = std::max(
            before.trips[trips] + static_cast<int64_t>(trips) * through, before.sum + own[trips]);
        front.trips[trips] = std::min(front.trips[trips], longest);
      }
      for (size_t i = 0; i < front.after_all.size(); ++i) {
        const int64_t after = std::max(times.after_all[i], before.after_all[i]);
        front.after_all[i] = first ? after : std::min(front.after_all[i], after);
      }
    }
  }
}

int64_t SegmentPool::StepBound(int64_t s, int64_t i, int64_t behind,
                               const std::array<int64_t, 2>& after_all) const {
  const Front& front = At(s, i);
  if (front.sum >= kNoPlan) return kNoPlan;
  // The way of one pack through all stages and back, once for every P packs.
  int64_t longest = (trips_.front() + 1) * (front.sum + behind);
  for (size_t trips = 0; trips < front.trips.size(); ++trips) {
    longest = std::max(longest, front.trips[trips] + static_cast<int64_t>(trips) * behind);
  }
  for (size_t phase = 0; phase < after_all.size(); ++phase)
    longest += std::max(front.after_all[phase], after_all[phase]);
  return longest;
}

int64_t SegmentPool::Bound(int64_t s, const StageSegment& segment) const {
  const Front& front = At(s, segment.begin);
  const Back& back = BackAt(s + 1, segment.end);
  if (front.sum >= kNoPlan || back.sum >= kNoPlan) return kNoPlan;
  const StageTimes& times = segment.times;
  const int64_t sends = 2 * times.send, total = times.total();
  const int64_t own = segment.through;
  std::array<int64_t, 2> after_all = times.after_all;
  int64_t phases = 0;
  for (size_t i = 0; i < after_all.size(); ++i) {
    after_all[i] = std::max(after_all[i], back.after_all[i]);
    phases += std::max(after_all[i], front.after_all[i]);
  }
  const int64_t longest = std::max({front.sum + own, front.sum + total + sends + back.longest,
                                    front.fill + own + times.after_own});
  return std::max(longest + phases,
                  StepBound(s, segment.begin, total + sends + back.sum, after_all));
}

}  // namespace evenkeel::planner
