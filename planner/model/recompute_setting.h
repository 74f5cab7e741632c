// One recompute setting for a whole model, as trainers take it.
#ifndef EVENKEEL_PLANNER_MODEL_RECOMPUTE_SETTING_H_
#define EVENKEEL_PLANNER_MODEL_RECOMPUTE_SETTING_H_

#include <compare>
#include <cstdint>

#include "planner/model/recompute_parts.h"

namespace evenkeel::planner {

// One setting for all pipeline stages. It repeats either parts of every language layer, or whole
// layers. The default repeats nothing.
struct RecomputeSetting {
  static constexpr int64_t kEveryLayer = int64_t{1} << 20;

  // Parts of every dense layer, and of every layer with experts (Megatron-Core: granularity
  // "selective").
  RecomputeParts dense_parts = 0, moe_parts = 0;
  // Language layers that each pipeline chunk repeats whole, from its front (Megatron-Core:
  // granularity "full", method "block"). REQUIRES: 0 if any parts are set.
  int64_t block = 0;
  bool encoder = false;  // every encoder layer is repeated whole, too

  // Returns whether the setting treats all layers of a kind alike.
  bool uniform() const { return block == 0 || block >= kEveryLayer; }
  friend auto operator<=>(const RecomputeSetting&, const RecomputeSetting&) = default;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_MODEL_RECOMPUTE_SETTING_H_
