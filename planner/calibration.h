// What measurements on real GPUs say about the cost model, as far as it concerns one job. Part of
// the job: planner/cost/calibration.h makes it from profiles and applies it.
#ifndef EVENKEEL_PLANNER_CALIBRATION_H_
#define EVENKEEL_PLANNER_CALIBRATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::planner {

enum class LayerKind;  // plan.h

// Measured over predicted by the analytic model.
struct MeasuredRatio {
  double value = 1;   // the median
  int64_t count = 0;  // of measurements; 0: none, `value` is 1
  double spread = 0;  // median distance from `value`, as a share of it
};

// One kind of layer, measured under one tensor-parallel degree.
struct LayerCalibration {
  LayerKind kind{};
  int64_t tensor = 1;
  MeasuredRatio forward;     // compute time
  MeasuredRatio backward;    // likewise
  MeasuredRatio activation;  // bytes kept from forward to backward
};

// Empty: the analytic model alone.
struct Calibration {
  std::string version;                   // a digest of all that follows; empty: nothing measured
  std::string layer_version;             // a digest of `layers`; empty: none
  std::vector<LayerCalibration> layers;  // ascending by kind and tensor
  MeasuredRatio step;                    // of whole steps, on top of `layers`
  int64_t rest_bytes = 0;          // that steps allocated beyond the model, per stage; at least 0
  int64_t rest_count = 0;          // measured steps that `rest_bytes` is the median of
  std::vector<int64_t> revisions;  // of the profile store, ascending

  bool empty() const { return revisions.empty(); }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CALIBRATION_H_
