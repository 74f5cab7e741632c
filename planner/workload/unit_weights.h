// What a unit of each encoder counts for where packs are made.
#ifndef EVENKEEL_PLANNER_WORKLOAD_UNIT_WEIGHTS_H_
#define EVENKEEL_PLANNER_WORKLOAD_UNIT_WEIGHTS_H_

#include <cstdint>

#include "planner/model/model_spec.h"
#include "planner/workload/per_encoder.h"

namespace evenkeel::planner {

inline constexpr int64_t kUnitWeightAtMost = 1000;

// Returns the matrix work of a unit in each encoder and its projector (three passes if anything in
// them trains, else one) over that of the lightest, rounded, from 1 to kUnitWeightAtMost. 1 for a
// single encoder, and for a model without one, so that units count as they are.
PerEncoder<int64_t> UnitWeightsOf(const ModelSpec& model);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_WORKLOAD_UNIT_WEIGHTS_H_
