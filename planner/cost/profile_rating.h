// Compares a profile with the analytic model: gives the ratio of each measurement, and refuses
// measurements that cannot be right.
#ifndef EVENKEEL_PLANNER_COST_PROFILE_RATING_H_
#define EVENKEEL_PLANNER_COST_PROFILE_RATING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/calibration.h"
#include "planner/cost/measured_profile.h"
#include "planner/cost/rating.h"

namespace evenkeel::planner {

// If there are at least kOthersAtLeast other measurements of its kind and tensor degree, a
// measurement is also refused if its distance from their median exceeds both kDeviationsAtMost
// times their median absolute deviation (scaled to a standard deviation) and kDeviationShare of the
// median.
inline constexpr int64_t kOthersAtLeast = 4;
inline constexpr double kDeviationsAtMost = 3;
inline constexpr double kDeviationShare = 0.25;

enum class RefusalReason {
  kImpossible,     // faster than the GPU's peak, or memory that recompute does not reduce
  kOutOfBounds,    // beyond kRatioAtMost of the model's value
  kOutlier,        // far from the others
  kSingleSetting,  // a memory probe without a second one under another recompute setting
};

enum class Measured { kLayerTime, kMemory, kStep, kCollective };

struct Refusal {
  Measured list = Measured::kLayerTime;
  int64_t index = 0;  // index in that list of the profile
  RefusalReason reason = RefusalReason::kOutOfBounds;
  std::string text;  // for a person: measured, predicted, and the bound
};

struct Judgement {
  MeasuredProfile accepted;      // the profile without the refused measurements
  std::vector<Rating> ratings;   // of the accepted measurements
  std::vector<Refusal> refused;  // sorted by list and index
};

// Judges a profile. `known` are the active ratings of the same component and GPU type;
// `known_steps` are the measured over the predicted times of its active steps.
Judgement Judge(const MeasuredProfile& profile, const std::vector<Rating>& known,
                const std::vector<double>& known_steps);

// Returns the ratings of a profile that was judged before.
std::vector<Rating> RatingsOf(const MeasuredProfile& profile);

bool HasKind(const MeasuredProfile& profile, LayerKind kind);

// Return whether a kind belongs to the encoder or to the language model. The projector belongs to
// neither.
bool IsEncoderKind(LayerKind kind);
bool IsLanguageKind(LayerKind kind);

// Returns the median, and the median distance from it as a share of it. Returns 1 with count 0 if
// there are no ratios.
MeasuredRatio MedianRatio(std::vector<double> ratios);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_PROFILE_RATING_H_
