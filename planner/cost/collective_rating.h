// Compares measured collectives with the cost model.
#ifndef EVENKEEL_PLANNER_COST_COLLECTIVE_RATING_H_
#define EVENKEEL_PLANNER_COST_COLLECTIVE_RATING_H_

#include <optional>
#include <string>
#include <vector>

#include "planner/calibration.h"
#include "planner/cost/measured_profile.h"

namespace evenkeel::planner {

// Why a curve is not believed.
struct CurveDoubt {
  bool impossible = false;  // quicker than the GPU's link; else too far from the model
  std::string text;         // for a person: measured, predicted, and what would be accepted
};

// Judges a curve. Where the network between nodes is not stated, there is nothing to compare with
// but the GPU's own link.
std::optional<CurveDoubt> DoubtOf(const CollectiveCurve& curve, const GpuSpec& gpu);

// Returns predicted over measured time of each point of the profile's curves, with what is measured
// so far.
std::vector<double> CollectiveRatios(const MeasuredProfile& profile,
                                     const Calibration& calibration);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_COLLECTIVE_RATING_H_
