// The weight of a unit of each encoder in packs.
#ifndef EVENKEEL_PLANNER_WORKLOAD_UNIT_SCALES_H_
#define EVENKEEL_PLANNER_WORKLOAD_UNIT_SCALES_H_

#include <cstdint>

#include "planner/model/model_spec.h"
#include "planner/workload/per_encoder.h"

namespace evenkeel::planner {

inline constexpr int64_t kUnitScaleAtMost = 1000;

// Returns the matrix work of a unit in each encoder and its projector over that of the lightest,
// rounded, from 1 to kUnitScaleAtMost. Train modes do not count, so that freezing a component
// changes no pack. 1 for a single encoder, and for a model without one: units count as they are.
PerEncoder<int64_t> UnitScalesOf(const ModelSpec& model);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_WORKLOAD_UNIT_SCALES_H_
