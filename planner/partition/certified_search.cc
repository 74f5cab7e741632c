#include "planner/partition/certified_search.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "planner/partition/partition_search.h"
#include "planner/partition/segment_pool.h"
#include "planner/partition/step_costs.h"
#include "planner/simulate/equal_packs.h"

namespace evenkeel::planner {
namespace {

class Certifying {
 public:
  Certifying(const SegmentTable& table, const CertifyLimits& limits, const Stop& stop)
      : table_(table), costs_(table), limits_(limits), stop_(stop), simulation_(stop) {
    found_.step_ns = kNoPlan;
  }

  CertifiedPartition Run(const std::vector<std::vector<int64_t>>& starts) {
    if (!limits_.starts_fit) {
      const PartitionSearchResult closed = FindPartition(table_, table_.micro_batches(), stop_);
      if (closed.stopped) return Finish(CertifiedEnd::kStopped);
      if (!closed.best) {
        found_.lower_bound_ns = kNoPlan;
        return Finish(CertifiedEnd::kUnfit);
      }
      Improve(closed.best->boundaries);
    }
    for (const std::vector<int64_t>& start : starts) Improve(start);
    if (Stopped()) return Finish(CertifiedEnd::kStopped);
    Prove();
    if (stopped_) return Finish(CertifiedEnd::kStopped);
    return Finish(found_.lower_bound_ns == found_.step_ns ? CertifiedEnd::kOptimal
                                                          : CertifiedEnd::kBounded);
  }

 private:
  struct Behind {
    int64_t round_trip = 0;  // forwards, backwards and sends of one pack through the stages after
    int64_t longest = 0;     // known path through one of them, from the first forward on
    std::array<int64_t, 2> after_all{};
  };
  struct Branch {
    int64_t bound = 0;
    StageSegment segment;
    Behind behind;
  };

  CertifiedPartition Finish(CertifiedEnd end) {
    found_.end = end;
    found_.events += simulation_.events();
    return std::move(found_);
  }

  // Steps this long or longer can be ignored.
  int64_t Limit() const { return std::min(found_.step_ns, limits_.step_ns); }

  void Prove() {
    SegmentPool pool(table_, costs_, Limit(), stop_);
    if (pool.stopped()) {
      stopped_ = true;
      return;
    }
    found_.events += pool.segments();
    if (pool.LowerBound() < Limit()) {
      Improve(pool.Promising());
      pool.Tighten(Limit());
      stopped_ = stopped_ || pool.stopped();
      if (stopped_) return;
    }
    root_bound_ = std::min(pool.LowerBound(), Limit());
    if (root_bound_ < Limit()) {
      pool_ = &pool;
      suffix_.assign(static_cast<size_t>(table_.stages()), StageTimes{});
      boundaries_.assign(static_cast<size_t>(table_.stages()) + 1, table_.size());
      Dive(table_.stages(), {});
      if (open_bound_ < Limit()) ImproveByRuns();
    }
    found_.lower_bound_ns = std::max(root_bound_, std::min(open_bound_, Limit()));
  }

  bool Stopped() {
    stopped_ = stopped_ || stop_();
    return stopped_;
  }

  std::optional<int64_t> StepOf(const std::vector<int64_t>& boundaries) {
    std::vector<StageTimes> stages;
    for (int64_t s = 0; s < table_.stages(); ++s) {
      const int64_t i = boundaries[static_cast<size_t>(s)],
                    j = boundaries[static_cast<size_t>(s) + 1];
      if (i >= j || table_.StageTime(s, i, j) >= kNoPlan) return std::nullopt;
      stages.push_back(costs_.At(s, i, j));
    }
    ++found_.simulations;
    return simulation_.Step(stages, table_.micro_batches());
  }

  // Takes the first improvement, boundary by boundary, until no move helps.
  void Improve(std::vector<int64_t> boundaries) {
    std::optional<int64_t> step = StepOf(boundaries);
    if (!step) return;
    for (bool improved = true; improved && simulation_.events() < limits_.events / 4;) {
      improved = false;
      for (size_t b = 1; b + 1 < boundaries.size(); ++b) {
        if (Stopped()) return;
        for (const int64_t move : kBoundaryMoves) {
          boundaries[b] += move;
          const bool inside =
              boundaries[b] > boundaries[b - 1] && boundaries[b] < boundaries[b + 1];
          const std::optional<int64_t> moved = inside ? StepOf(boundaries) : std::nullopt;
          if (moved && *moved < *step) {
            step = moved;
            improved = true;
          } else {
            boundaries[b] -= move;
          }
        }
      }
    }
    Offer(*step, boundaries);
  }

  // Used if work ran out. A stage hands a layer to another, and the stages in between pass one on:
  // first the stage that exchanges or works longest gives, then any.
  void ImproveByRuns() {
    if (found_.boundaries.empty()) return;
    Handing handing{found_.boundaries, found_.step_ns, simulation_.events() + limits_.events / 2};
    const int64_t stages = table_.stages();
    const auto any = [&] {
      for (int64_t s = 0; s < stages; ++s)
        if (Gives(s, handing)) return true;
      return false;
    };
    while (Gives(LongestStage(handing, &StageTimes::after_own), handing) ||
           Gives(LongestStage(handing, nullptr), handing) || any()) {
    }
    Offer(handing.step_ns, handing.boundaries);
  }

  struct Handing {
    std::vector<int64_t> boundaries;
    int64_t step_ns = 0;
    int64_t events_at_most = 0;
  };

  // Returns the stage for which the member is largest; without one, the stage that works longest.
  int64_t LongestStage(const Handing& handing, int64_t StageTimes::*member) {
    int64_t longest = 0, most = -1;
    for (int64_t s = 0; s < table_.stages(); ++s) {
      const StageTimes times = costs_.At(s, handing.boundaries[static_cast<size_t>(s)],
                                         handing.boundaries[static_cast<size_t>(s) + 1]);
      const int64_t time = member != nullptr ? times.*member : times.total();
      if (time > most) most = time, longest = s;
    }
    return longest;
  }

  // Lets the stage give a layer to the nearest stage for which the step gets shorter. Returns false
  // if there is none, or work or time ran out.
  bool Gives(int64_t stage, Handing& handing) {
    const int64_t stages = table_.stages();
    for (int64_t distance = 1; distance < stages; ++distance) {
      for (const int64_t to : {stage - distance, stage + distance}) {
        if (to < 0 || to >= stages) continue;
        if (simulation_.events() >= handing.events_at_most || Stopped()) return false;
        std::vector<int64_t> moved = handing.boundaries;
        for (int64_t b = std::min(stage, to) + 1; b <= std::max(stage, to); ++b)
          moved[static_cast<size_t>(b)] += to < stage ? 1 : -1;
        const std::optional<int64_t> step = StepOf(moved);
        if (!step || *step >= handing.step_ns) continue;
        handing.step_ns = *step;
        handing.boundaries = std::move(moved);
        return true;
      }
    }
    return false;
  }

  void Offer(int64_t step, const std::vector<int64_t>& boundaries) {
    if (step >= found_.step_ns) return;
    found_.step_ns = step;
    found_.boundaries = boundaries;
  }

  // Fixes stages s, s + 1, ... and branches on where stage s - 1 begins, most promising first.
  void Dive(int64_t s, const Behind& behind) {
    if (s == 0) return;  // simulated whole
    std::vector<Branch> branches;
    for (const StageSegment& segment : pool_->Ending(s - 1, boundaries_[static_cast<size_t>(s)])) {
      Branch branch{.bound = 0, .segment = segment, .behind = behind};
      const StageTimes& times = segment.times;
      const int64_t trip = behind.round_trip + 2 * times.send, own = times.total();
      branch.behind.round_trip = trip + own;
      branch.behind.longest =
          std::max(pool_->Through(s - 1, times, trip), own + 2 * times.send + behind.longest);
      for (size_t i = 0; i < times.after_all.size(); ++i) {
        int64_t& after = branch.behind.after_all[i];
        after = std::max(after, times.after_all[i]);
      }
      branch.bound = std::max(
          pool_->StepBound(s - 1, segment.begin, branch.behind.round_trip, branch.behind.after_all),
          BoundBehind(s - 1, branch, branch.behind.longest));
      if (branch.bound < Limit()) branches.push_back(branch);
    }
    found_.events += static_cast<int64_t>(branches.size());
    std::stable_sort(branches.begin(), branches.end(),
                     [](const Branch& a, const Branch& b) { return a.bound < b.bound; });
    for (Branch& branch : branches) {
      if (branch.bound >= Limit() || root_bound_ >= Limit() || Stopped()) return;
      if (simulation_.events() + found_.events > limits_.events) {
        open_bound_ = std::min(open_bound_, branch.bound);
        continue;
      }
      ++found_.nodes;
      boundaries_[static_cast<size_t>(s) - 1] = branch.segment.begin;
      suffix_[static_cast<size_t>(s) - 1] = branch.segment.times;
      if (SimulatedBound(s - 1, branch) < Limit()) Dive(s - 1, branch.behind);
    }
  }

  // Returns a lower bound on the step if a path of length `longest` runs through the stages from s
  // on and then back through the stages in front.
  int64_t BoundBehind(int64_t s, const Branch& branch, int64_t longest) const {
    const SegmentPool::Front& front = pool_->At(s, branch.segment.begin);
    longest += front.sum;
    for (size_t i = 0; i < front.after_all.size(); ++i)
      longest += std::max(front.after_all[i], branch.behind.after_all[i]);
    return longest;
  }

  // Simulates the stages from s on as a separate pipeline. The first pack reaches it after it has
  // run through the stages in front. With s = 0, the result is the step. In long pipelines, this is
  // done only every few stages, because the bound grows little in between.
  int64_t SimulatedBound(int64_t s, const Branch& branch) {
    if (s > 1 && s % (1 + table_.stages() / 16) != 0) return branch.bound;
    const std::span<const StageTimes> stages = std::span(suffix_).subspan(static_cast<size_t>(s));
    ++found_.simulations;
    const std::vector<int64_t>& ends = simulation_.Run(stages, table_.micro_batches());
    if (s == 0) {
      Offer(EqualPackStep(stages, ends), boundaries_);
      return kNoPlan;
    }
    const SegmentPool::Front& front = pool_->At(s, branch.segment.begin);
    int64_t longest = ends.front();
    for (size_t i = 0; i < stages.size(); ++i)
      longest = std::max(longest, front.fill - front.sum + ends[i] + stages[i].after_own);
    return BoundBehind(s, branch, longest);
  }

  const SegmentTable& table_;
  StepCosts costs_;
  const CertifyLimits limits_;
  const Stop stop_;
  EqualPacks simulation_;
  CertifiedPartition found_;
  const SegmentPool* pool_ = nullptr;
  std::vector<StageTimes> suffix_;   // by stage; valid from the first fixed stage on
  std::vector<int64_t> boundaries_;  // of the current partition
  int64_t root_bound_ = 0;           // on all partitions
  int64_t open_bound_ = kNoPlan;     // least bound of the open branches when work ran out
  bool stopped_ = false;
};

}  // namespace

CertifiedPartition CertifyPartition(const SegmentTable& table,
                                    const std::vector<std::vector<int64_t>>& starts,
                                    const CertifyLimits& limits, const Stop& stop) {
  return Certifying(table, limits, stop).Run(starts);
}

int64_t StepLowerBound(const SegmentTable& table, int64_t limit, const Stop& stop) {
  StepCosts costs(table);
  const SegmentPool pool(table, costs, limit, stop, SegmentsAsked::kOfUse);
  if (pool.stopped()) throw Stopped();
  return pool.LowerBound();
}

}  // namespace evenkeel::planner
