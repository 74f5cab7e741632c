// The calibration of this server: profiles recorded, listed and rolled back, and what they say
// about a job. Thread-safe.
#ifndef EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_
#define EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "planner/cost/calibration_book.h"
#include "server/calibration/calibration_observer.h"
#include "server/calibration/profile_store.h"
#include "server/convert/profile_from_proto.h"
#include "server/convert/profile_to_proto.h"
#include "server/core/clock.h"

namespace evenkeel::server {

// What plans are made by at one moment. Immutable.
struct CalibrationState {
  planner::CalibrationBook book;
  uint64_t generation = 0;                                   // grows with every change
  std::vector<std::shared_ptr<const HistoryEntry>> history;  // oldest first

  int64_t newest() const { return static_cast<int64_t>(history.size()); }
  int64_t active_profiles() const;
};
using CalibrationStatePtr = std::shared_ptr<const CalibrationState>;

class Calibrations {
 public:
  // Reads the history of `store`. nullptr, with the reason in *error: a profile of it can not be
  // read. `clock` and `observer` outlive the result.
  static std::unique_ptr<Calibrations> Open(std::unique_ptr<ProfileStore> store, const Clock& clock,
                                            CalibrationObserver& observer, std::string* error);

  // Never waits for the disk.
  CalibrationStatePtr state() const;

  // Both wait for the disk. A profile is in force, and durable, when they return.
  RecordOutcome Record(const ProfileUpload& upload);
  RollBackOutcome TakeBack(const RollBack& roll_back);

  bool durable() const { return store_->durable(); }

 private:
  Calibrations(std::unique_ptr<ProfileStore> store, const Clock& clock,
               CalibrationObserver& observer);

  RecordOutcome Judged(const CalibrationState& before, const ProfileUpload& upload) const;
  ProfileEnding Keep(const CalibrationStatePtr& before, const ProfileUpload& upload,
                     RecordOutcome* outcome);
  void Observe(const ProfileUpload& upload, const RecordOutcome& outcome, ProfileEnding ending);
  AppendResult Append(ProfileRecord* record);
  void Publish(CalibrationStatePtr state);

  const std::unique_ptr<ProfileStore> store_;
  const Clock& clock_;
  CalibrationObserver& observer_;
  std::mutex write_mutex_;  // one change at a time; guards store_
  mutable std::mutex state_mutex_;
  CalibrationStatePtr state_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_CALIBRATIONS_H_
