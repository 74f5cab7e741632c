// What was measured, in the cost model: docs/COST_MODEL.md, section 7. A Calibration comes from a
// CalibrationBook.
#ifndef EVENKEEL_PLANNER_COST_CALIBRATION_H_
#define EVENKEEL_PLANNER_COST_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "planner/calibration.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/measured_profile.h"
#include "planner/cost/profile_rating.h"
#include "planner/job.h"

namespace evenkeel::planner {

// Puts what was measured into one layer's cost: times, kept bytes, and the rest that steps
// allocated, as workspace. What was measured under another tensor degree only is taken from the
// nearest.
void Calibrate(const Calibration& calibration, int64_t tensor, LayerCost& layer);

// What still holds on another GPU type: what layers keep and what steps allocate, but no times.
Calibration WithoutTimes(Calibration calibration);

// The step that `modelled_ns` comes to in practice.
int64_t CorrectedStep(const Calibration& calibration, int64_t modelled_ns);

// Which figures of a plan under this tensor degree are measured, in words.
std::vector<FigureBasis> CalibrationFigures(const Calibration& calibration, int64_t tensor);

// How far predictions are from what `profile` measured: mean |predicted / measured - 1|.
struct PredictionError {
  int64_t count = 0;  // of measured values; 0: nothing to compare, `mean` is 0
  double mean = 0;
};
struct PredictionErrors {
  PredictionError layer_times, memory, steps;
};
PredictionErrors ErrorsOf(const Profile& profile, const std::vector<Rating>& ratings,
                          const Calibration& calibration);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_CALIBRATION_H_
