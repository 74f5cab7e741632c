// The calibration of this server: profiles are recorded, listed and rolled back, and applied to
// jobs. If the store is shared, it follows what other replicas record. Thread-safe.
#ifndef EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_
#define EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/base/mutex.h"
#include "server/calibration/calibration_observer.h"
#include "server/calibration/calibration_state.h"
#include "server/calibration/profile_store.h"
#include "server/calibration/shared_subjects.h"
#include "server/calibration/ticker.h"
#include "server/convert/profile/profile_from_proto.h"
#include "server/convert/profile/profile_to_proto.h"
#include "server/core/clock.h"

namespace evenkeel::server {

class Calibrations {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using SleepUntil = std::function<void(Time)>;

  // Reads the history of `store`. Returns nullptr, with the reason in *error, if a profile in it
  // cannot be read. `clock` and `observer` must outlive the result. `sleep_until` is for tests that
  // control the clock.
  static std::unique_ptr<Calibrations> Open(std::unique_ptr<ProfileStore> store, const Clock& clock,
                                            CalibrationObserver& observer, std::string* error,
                                            SleepUntil sleep_until = {});

  // Never waits for the store. The lease of the state says whether it is the newest.
  CalibrationStatePtr state() const;

  // These wait for the store. A profile is in force, and durable, when they return. With a shared
  // store they also wait until no replica vouches for an older state (lease.h).
  RecordOutcome Record(const ProfileUpload& upload);
  RollBackOutcome TakeBack(const RollBack& roll_back);

  // Catches up with a shared store. Returns why it could not, or "" if the state is confirmed.
  std::string CatchUp();

  // Catches up, unless `revision` is already known or the store was asked after `arrived`. Returns
  // whether `revision` is known now.
  bool CatchUpTo(int64_t revision, Time arrived);

  // Starts a thread that catches up every `interval` if the store is shared. `report` gets each new
  // reason why it cannot, and "" when it can again. Call at most once.
  void Follow(std::chrono::milliseconds interval, std::function<void(const std::string&)> report);

  // Ends that thread. Nothing is reported after this returns.
  void StopFollowing() { ticker_.reset(); }

  bool durable() const { return store_->durable(); }

 private:
  Calibrations(std::unique_ptr<ProfileStore> store, SharedSubjects subjects, const Clock& clock,
               CalibrationObserver& observer, SleepUntil sleep_until);

  std::string ReadNew(bool patient) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  std::string Adopt(NewRecords found, Time asked_at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  RecordOutcome TryRecord(const ProfileUpload& upload, bool* conflict)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  RollBackOutcome TryTakeBack(const RollBack& roll_back, bool* conflict)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  template <typename Outcome, typename Try>
  Outcome Persist(Try attempt);

  RecordOutcome Judged(const CalibrationState& before, const ProfileUpload& upload) const;
  ProfileEnding Keep(const CalibrationStatePtr& before, const ProfileUpload& upload,
                     RecordOutcome* outcome, bool* conflict)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  void Observe(const ProfileUpload& upload, const RecordOutcome& outcome, ProfileEnding ending);
  AppendResult Append(ProfileRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  void Publish(CalibrationStatePtr state, Time asked_at);
  void AwaitOthers();

  const std::unique_ptr<ProfileStore> store_;
  const Clock& clock_;
  CalibrationObserver& observer_;
  const SleepUntil sleep_until_;
  Mutex write_mutex_;  // allows one change at a time, and one use of store_, except for its
                       // constants
  SharedSubjects subjects_ ABSL_GUARDED_BY(write_mutex_);
  // When the store was last asked, whatever the result.
  Time last_asked_ ABSL_GUARDED_BY(write_mutex_);
  mutable Mutex state_mutex_;
  CalibrationStatePtr state_ ABSL_GUARDED_BY(state_mutex_);
  std::unique_ptr<Ticker> ticker_;  // last member, because it uses all members above
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_
