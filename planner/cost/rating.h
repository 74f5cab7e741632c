// How one measurement compares with the analytic model.
#ifndef EVENKEEL_PLANNER_COST_RATING_H_
#define EVENKEEL_PLANNER_COST_RATING_H_

#include <cstdint>

#include "planner/model/layer_kind.h"

namespace evenkeel::planner {

// A measurement is refused if it differs from the analytic model by more than this factor, either
// way.
inline constexpr double kRatioAtMost = 3;

enum class Rated { kForward, kBackward, kActivation };

// Measured over predicted value of one quantity.
struct Rating {
  LayerKind kind{};
  int64_t tensor = 1;
  Rated what = Rated::kForward;
  double ratio = 1;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_RATING_H_
