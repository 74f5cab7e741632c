// Events about profiles, for metrics.
#ifndef EVENKEEL_SERVER_CALIBRATION_CALIBRATION_OBSERVER_H_
#define EVENKEEL_SERVER_CALIBRATION_CALIBRATION_OBSERVER_H_

#include <cstdint>

#include "server/base/drift.h"

namespace evenkeel::server {

// The lists of a profile.
enum class MeasuredList { kLayerTimes, kMemory, kSteps, kCollectives };
inline constexpr int kMeasuredLists = 4;
inline constexpr int kListsWithErrors = 3;  // only the answer has the errors of collectives

// Why a measurement was refused. Mirrors the contract's RefusalReason.
enum class RefusedFor {
  kImpossible,
  kOutOfBounds,
  kOutlier,
  kSingleSetting,
  kPlanUnknown,
  kPlanDiffers
};
inline constexpr int kRefusedFor = 6;

enum class ProfileEnding { kRecorded, kKnown, kRefused, kDryRun, kStoreError };
inline constexpr int kProfileEndings = 5;

// How an attempt to catch up with a shared store ended.
enum class FollowEnding { kConfirmed, kUnreachable, kDamaged };
inline constexpr int kFollowEndings = 3;

// Thread-safe.
class CalibrationObserver {
 public:
  virtual ~CalibrationObserver() = default;
  virtual void OnProfile(ProfileEnding /*ending*/) {}
  // Called for measurements of recorded profiles that were accepted.
  virtual void OnAccepted(MeasuredList /*list*/, int64_t /*count*/) {}
  virtual void OnRefused(RefusedFor /*reason*/) {}
  // Reports the mean prediction error of the measured values, before this profile and with it, for
  // the first kListsWithErrors lists.
  virtual void OnPredictionError(MeasuredList /*list*/, double /*before*/, double /*after*/) {}
  // Called for each step outcome that was compared with its plan, also in a dry run, but not again
  // for one that is already recorded.
  virtual void OnDrift(const Drift& /*drift*/) {}
  virtual void OnStoreError() {}
  virtual void OnFollow(FollowEnding /*ending*/) {}
  // Called if another replica was faster, so that the change is judged again.
  virtual void OnConflict() {}
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_CALIBRATION_OBSERVER_H_
