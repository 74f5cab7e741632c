// The measurements on real GPUs that correct the cost model for one job. A Calibration is part of
// the job: planner/cost/calibration_book.h makes it from profiles, and
// planner/cost/apply_calibration.h applies it.
#ifndef EVENKEEL_PLANNER_CALIBRATION_H_
#define EVENKEEL_PLANNER_CALIBRATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "planner/base/shared_value.h"
#include "planner/model/layer_kind.h"

namespace evenkeel::planner {

struct CollectiveCurve;  // planner/hardware/measured_collectives.h

// A measured value divided by the prediction of the analytic model.
struct MeasuredRatio {
  double value = 1;   // the median
  int64_t count = 0;  // number of measurements; `value` is 1 if there are none
  double spread = 0;  // median distance from `value`, as a share of it
};

// One kind of layer, measured under one tensor-parallel degree.
struct LayerCalibration {
  LayerKind kind{};
  int64_t tensor = 1;
  MeasuredRatio forward;     // compute time
  MeasuredRatio backward;    // compute time
  MeasuredRatio activation;  // bytes kept from forward to backward
};

// Corrections of the analytic model for one job. If empty, the analytic model applies unchanged.
struct Calibration {
  std::string version;        // a digest of all fields below; empty if nothing was measured
  std::string layer_version;  // a digest of `layers` and `collectives`; empty without both
  std::vector<LayerCalibration> layers;                             // ascending by kind and tensor
  std::shared_ptr<const std::vector<CollectiveCurve>> collectives;  // nullptr: none
  MeasuredRatio step;      // times of whole steps, on top of `layers` and `collectives`
  int64_t rest_bytes = 0;  // bytes that steps allocated beyond the model's prediction, per
                           // stage; >= 0
  int64_t rest_count = 0;  // number of measured steps whose median is `rest_bytes`
  // Revisions in the profile store, ascending. There may be very many, and a search copies jobs.
  SharedValue<std::vector<int64_t>> revisions;

  bool empty() const { return revisions->empty(); }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CALIBRATION_H_
