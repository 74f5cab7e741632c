#include "planner/packing/time_level.h"

#include <cstddef>
#include <utility>

#include "planner/base/integers.h"
#include "planner/packing/deal.h"
#include "planner/packing/pack_time.h"

namespace evenkeel::planner {
namespace {

// Samples per pack from which longest-first packs are level, so that no column is needed; and from
// which a column costs too much where there are no such packs.
constexpr int64_t kEnoughPerPack = 64, kMostPerPack = 256;

// One way to pack.
struct TimeTry {
  Packing packing;
  std::vector<int64_t> times;
  std::vector<PackWork> work;
};

class TimeSearch {
 public:
  TimeSearch(const Lengths& lengths, const PackRule& rule, const DealRule& deal,
             const PackTimes& times)
      : lengths_(lengths), rule_(rule), deal_(deal), times_(times) {
    // The first try is the packs that are not level in time.
    const auto sums = Add(Pack(lengths, rule));
    Keep(0, Deal(WorkOf(sums, times_), deal_));
    best_.idle_by_tokens = epoch_.idle;
    rule_.times = times;
    AddBy(TimeMethod::kLongestFirst);
    const auto packs = static_cast<int64_t>(tries_[0].packing.size());
    const int64_t below = tries_.size() > 1 ? kEnoughPerPack : kMostPerPack;
    if (static_cast<int64_t>(lengths.size()) < below * packs) AddBy(TimeMethod::kColumn);
  }

  TimeLevelled Run(bool window_is_free) {
    const int64_t step_packs = deal_.ranks * deal_.packs_per_rank;
    const auto packs = static_cast<int64_t>(tries_[0].packing.size());
    const int64_t steps = CeilDivide(packs, step_packs);
    for (;;) {
      for (size_t t = 0; t < tries_.size(); ++t) Keep(t, Deal(tries_[t].work, deal_));
      const bool whole_epoch = deal_.window == 0 || deal_.window > steps;
      if (!window_is_free || whole_epoch || epoch_.idle <= kIdleEnough) break;
      deal_.window *= 2;
    }
    const int64_t bound = EpochTimeBound(tries_[kept_].times, deal_);
    if (bound > 0)
      best_.order_gap = static_cast<double>(epoch_.time) / static_cast<double>(bound) - 1;
    best_.packing = std::move(tries_[kept_].packing);
    return std::move(best_);
  }

 private:
  void AddBy(TimeMethod method) {
    rule_.by_time = method;
    Packing packing = Pack(lengths_, rule_);
    if (packing.size() > 0) Add(std::move(packing));
  }

  // Returns the packs' sums.
  std::vector<PackSums> Add(Packing packing) {
    TimeTry added{std::move(packing), {}, {}};
    rule_.stop.Ask();
    std::vector<PackSums> sums = SumsOf(lengths_, added.packing);
    added.times = PackTimesOf(lengths_, sums, times_);
    added.work = WorkByTime(added.times);
    tries_.push_back(std::move(added));
    return sums;
  }

  // Keeps the order if no shorter epoch is known; of equals, the first.
  void Keep(size_t t, std::vector<int64_t> order) {
    const Epoch epoch = EpochOf(tries_[t].times, order, deal_);
    if (!best_.order.empty() && epoch.time >= epoch_.time) return;
    epoch_ = epoch;
    kept_ = t;
    best_.order = std::move(order);
    best_.window = deal_.window;
  }

  const Lengths& lengths_;
  PackRule rule_;
  DealRule deal_;
  const PackTimes& times_;
  std::vector<TimeTry> tries_;
  TimeLevelled best_;
  Epoch epoch_;      // of the best
  size_t kept_ = 0;  // its try
};

}  // namespace

TimeLevelled PackAndDealByTime(const Lengths& lengths, const PackRule& rule, const DealRule& deal,
                               const PackTimes& times, bool window_is_free) {
  return TimeSearch(lengths, rule, deal, times).Run(window_is_free);
}

}  // namespace evenkeel::planner
