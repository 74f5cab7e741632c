// Packs and deals so that ranks take the same predicted time.
#ifndef EVENKEEL_PLANNER_PACKING_TIME_LEVEL_H_
#define EVENKEEL_PLANNER_PACKING_TIME_LEVEL_H_

#include <cstdint>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/deal_rule.h"
#include "planner/packing/packer.h"
#include "planner/packing/packing.h"

namespace evenkeel::planner {

struct TimeLevelled {
  Packing packing;
  std::vector<int64_t> order;  // of Deal
  int64_t window = 0;          // DealRule::window of the order
  double order_gap = 0;        // Epoch::time over EpochTimeBound, less 1
  double idle_by_tokens = 0;  // Balance::idle of the packs of rule.packer, dealt by Deal and WorkOf
};

// Makes packs by rule.packer and by every TimeMethod, deals them by their whole time, and keeps the
// shortest epoch. The packs of rule.packer dealt by both parts of their time are among
// the tries, so that the result never takes longer. If `window_is_free`, the windows deal.window,
// twice that, and so on are tried, up to one step more than the epoch has, until Epoch::idle is
// at most kIdleEnough.
TimeLevelled PackAndDealByTime(const Lengths& lengths, const PackRule& rule, const DealRule& deal,
                               const PackTimes& times, bool window_is_free);

inline constexpr double kIdleEnough = .01;

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_TIME_LEVEL_H_
