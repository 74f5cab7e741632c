// A profile against the analytic model: the ratio that each measurement comes to, and which of them
// can not be believed.
#ifndef EVENKEEL_PLANNER_COST_PROFILE_RATING_H_
#define EVENKEEL_PLANNER_COST_PROFILE_RATING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/calibration.h"
#include "planner/cost/measured_profile.h"

namespace evenkeel::planner {

// A measurement is refused if it is further than this factor from the analytic model, either way,
inline constexpr double kRatioAtMost = 3;
// or, where there are so many others of its kind and tensor degree, further from their median than
// so many times their median absolute deviation (scaled to a standard deviation) and than this
// share.
inline constexpr int64_t kOthersAtLeast = 4;
inline constexpr double kDeviationsAtMost = 3;
inline constexpr double kDeviationShare = 0.25;

enum class Rated { kForward, kBackward, kActivation };

// Measured over predicted of one thing.
struct Rating {
  LayerKind kind{};
  int64_t tensor = 1;
  Rated what = Rated::kForward;
  double ratio = 1;
};

enum class RefusalReason {
  kImpossible,     // faster than the GPU's peak, or memory that recompute does not lessen
  kOutOfBounds,    // beyond kRatioAtMost of the model
  kOutlier,        // far from the others
  kSingleSetting,  // a memory probe without one under another recompute setting
};

enum class Measured { kLayerTime, kMemory, kStep };

struct Refusal {
  Measured list = Measured::kLayerTime;
  int64_t index = 0;  // in the profile's list
  RefusalReason reason = RefusalReason::kOutOfBounds;
  std::string text;  // for a person: measured, predicted, and the bound
};

struct Judgement {
  Profile accepted;              // the profile without what was refused
  std::vector<Rating> ratings;   // of what was accepted
  std::vector<Refusal> refused;  // by list and index
};

// `known`: ratings of the same component and GPU type that are in force; `known_steps`: measured
// over predicted of such steps.
Judgement Judge(const Profile& profile, const std::vector<Rating>& known,
                const std::vector<double>& known_steps);

// Ratings of a profile that was judged before.
std::vector<Rating> RatingsOf(const Profile& profile);

// Whether the model that the profile is of has such a layer.
bool HasKind(const Profile& profile, LayerKind kind);

// Kinds of the encoder, of the projector between both, of the language model.
bool IsEncoderKind(LayerKind kind);
bool IsLanguageKind(LayerKind kind);

// Median, and the median distance from it as a share of it. Empty: 1 with count 0.
MeasuredRatio MedianRatio(std::vector<double> ratios);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_PROFILE_RATING_H_
