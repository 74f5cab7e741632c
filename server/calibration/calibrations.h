// The calibration of this server: profiles recorded, listed and rolled back, and what they say
// about a job. Where the store is shared it follows what other replicas record. Thread-safe.
#ifndef EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_
#define EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/calibration/calibration_observer.h"
#include "server/calibration/calibration_state.h"
#include "server/calibration/profile_store.h"
#include "server/calibration/ticker.h"
#include "server/convert/profile_from_proto.h"
#include "server/convert/profile_to_proto.h"
#include "server/core/clock.h"

namespace evenkeel::server {

class Calibrations {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using SleepUntil = std::function<void(Time)>;

  // Reads the history of `store`. nullptr, with the reason in *error: a profile of it can not be
  // read. `clock` and `observer` outlive the result. `sleep_until`: for tests that turn the clock.
  static std::unique_ptr<Calibrations> Open(std::unique_ptr<ProfileStore> store, const Clock& clock,
                                            CalibrationObserver& observer, std::string* error,
                                            SleepUntil sleep_until = {});

  // Never waits for the store. Whether it is the newest there is, its lease says.
  CalibrationStatePtr state() const;

  // All wait for the store. A profile is in force, and durable, when they return; with a shared
  // store they also wait until no replica vouches for an older state (lease.h).
  RecordOutcome Record(const ProfileUpload& upload);
  RollBackOutcome TakeBack(const RollBack& roll_back);

  // Catches up with a shared store. Returns why it could not; empty: the state is confirmed.
  std::string CatchUp();

  // Likewise, unless `revision` is known already, or the store was asked after `arrived`. Returns
  // whether it is known now.
  bool CatchUpTo(int64_t revision, Time arrived);

  // From now on a thread catches up every `interval`, where the store is shared. `report` gets each
  // new reason why it can not, and "" when it can again. Once.
  void Follow(std::chrono::milliseconds interval, std::function<void(const std::string&)> report);

  // Ends that thread. Nothing is reported any more when it returns.
  void StopFollowing() { ticker_.reset(); }

  bool durable() const { return store_->durable(); }

 private:
  Calibrations(std::unique_ptr<ProfileStore> store, const Clock& clock,
               CalibrationObserver& observer, SleepUntil sleep_until);

  // With write_mutex_ held.
  std::string ReadNew(bool patient);
  std::string Adopt(NewRecords found, Time asked);
  RecordOutcome TryRecord(const ProfileUpload& upload, bool* conflict);
  RollBackOutcome TryTakeBack(const RollBack& roll_back, bool* conflict);
  template <typename Outcome, typename Try>
  Outcome Persist(Try attempt);

  RecordOutcome Judged(const CalibrationState& before, const ProfileUpload& upload) const;
  ProfileEnding Keep(const CalibrationStatePtr& before, const ProfileUpload& upload,
                     RecordOutcome* outcome, bool* conflict);
  void Observe(const ProfileUpload& upload, const RecordOutcome& outcome, ProfileEnding ending);
  AppendResult Append(ProfileRecord* record);
  void Publish(CalibrationStatePtr state, Time asked);
  void AwaitOthers();

  const std::unique_ptr<ProfileStore> store_;
  const Clock& clock_;
  CalibrationObserver& observer_;
  const SleepUntil sleep_until_;
  std::mutex write_mutex_;  // one change at a time; guards store_ and what follows
  Time last_asked_;         // when the store was last asked, whatever came of it
  mutable std::mutex state_mutex_;
  CalibrationStatePtr state_;
  std::unique_ptr<Ticker> ticker_;  // last: it uses all of the above
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_
