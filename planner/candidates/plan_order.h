// The order of plans: which of two is better.
#ifndef EVENKEEL_PLANNER_CANDIDATES_PLAN_ORDER_H_
#define EVENKEEL_PLANNER_CANDIDATES_PLAN_ORDER_H_

#include <cstdint>

#include "planner/base/integers.h"

namespace evenkeel::planner {

// Smaller is better: the time of an epoch in whole steps, then that of the requested global batch.
struct PlanOrder {
  Wide epoch_ns = 0;
  int64_t batch_ns = 0;
  friend bool operator<(const PlanOrder& a, const PlanOrder& b) {
    return a.epoch_ns != b.epoch_ns ? a.epoch_ns < b.epoch_ns : a.batch_ns < b.batch_ns;
  }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CANDIDATES_PLAN_ORDER_H_
