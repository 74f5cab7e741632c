// The differences between measured steps and their plans that metrics count.
#ifndef EVENKEEL_SERVER_BASE_DRIFT_H_
#define EVENKEEL_SERVER_BASE_DRIFT_H_

namespace evenkeel::server {

// The place of a measured step relative to the interval of the prediction.
enum class DriftSide { kUnknown, kWithin, kAbove, kBelow };
inline constexpr int kDriftSides = 4;

// One step outcome compared with its plan.
struct Drift {
  double step_ratio = 1;  // measured over predicted
  DriftSide step = DriftSide::kUnknown;
  DriftSide memory = DriftSide::kUnknown;
  bool slow_ranks = false;  // some ranks are slower than the others of their stage
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_BASE_DRIFT_H_
