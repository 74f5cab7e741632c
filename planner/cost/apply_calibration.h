// Applies measurements to the cost model: docs/COST_MODEL.md, section 7. A Calibration comes from a
// CalibrationBook.
#ifndef EVENKEEL_PLANNER_COST_APPLY_CALIBRATION_H_
#define EVENKEEL_PLANNER_COST_APPLY_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "planner/calibration.h"
#include "planner/cost/layer_cost.h"
#include "planner/cost/measured_profile.h"
#include "planner/cost/rating.h"
#include "planner/job.h"
#include "planner/space/parallelism.h"

namespace evenkeel::planner {

// Corrects one layer's cost by the measurements: its times, its kept bytes, and, as workspace, the
// bytes that steps allocated beyond the model. If a layer was measured under other tensor degrees
// only, the nearest degree counts.
void Calibrate(const Calibration& calibration, int64_t tensor, LayerCost& layer);

// Returns the part of the calibration that still holds on another GPU type or in another precision:
// the bytes that layers keep and that steps allocate, but no times of layers and steps.
Calibration WithoutTimes(Calibration calibration);

// Returns the step time to expect in practice where the model predicts `modelled_ns`, in ns.
int64_t CorrectedStep(const Calibration& calibration, int64_t modelled_ns);

// Returns, in words, which figures of a plan with these degrees are measured.
std::vector<FigureBasis> CalibrationFigures(const Calibration& calibration, const Parallelism& p);

// How far predictions are from the measurements of a profile: mean |predicted / measured - 1|.
struct PredictionError {
  int64_t count = 0;  // number of measured values; `mean` is 0 if there are none
  double mean = 0;
};
struct PredictionErrors {
  PredictionError layer_times, memory, steps, collectives;
};
PredictionErrors ErrorsOf(const MeasuredProfile& profile, const std::vector<Rating>& ratings,
                          const Calibration& calibration);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_APPLY_CALIBRATION_H_
