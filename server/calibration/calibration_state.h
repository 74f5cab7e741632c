// The calibration that plans are made with at one moment.
#ifndef EVENKEEL_SERVER_CALIBRATION_CALIBRATION_STATE_H_
#define EVENKEEL_SERVER_CALIBRATION_CALIBRATION_STATE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "planner/cost/calibration_book.h"
#include "server/calibration/lease.h"
#include "server/calibration/profile_store.h"
#include "server/calibration/shared_subjects.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/profile/profile_to_proto.h"

namespace evenkeel::server {

using HistoryEntryPtr = std::shared_ptr<const HistoryEntry>;

// Immutable except for its lease. A state that was replaced keeps its own lease, which is never
// renewed.
struct CalibrationState {
  explicit CalibrationState(std::chrono::steady_clock::time_point now) : since(now), lease(now) {}

  planner::CalibrationBook book;
  uint64_t generation = 0;                      // grows with every change
  std::vector<HistoryEntryPtr> history;         // oldest first
  std::vector<bool> active;                     // which of them are in force
  int64_t active_profiles = 0;                  // profiles among these
  std::chrono::steady_clock::time_point since;  // when this process received it
  Lease lease;

  int64_t newest() const { return static_cast<int64_t>(history.size()); }
  bool confirmed(std::chrono::steady_clock::time_point now) const {
    return !lease.UnconfirmedSeconds(now);
  }
};
using CalibrationStatePtr = std::shared_ptr<const CalibrationState>;

inline bool IsProfile(const HistoryEntry& entry) { return entry.action == ProfileAction::kRecord; }

// `facts` are those of a profile. `subjects` is nullptr for an entry that does not last.
HistoryEntryPtr MakeEntry(const ProfileRecord& record, ProfileFacts facts,
                          SharedSubjects* subjects);

// Takes the record, so that its bytes are freed. Returns nullptr for a profile that this release
// cannot read.
HistoryEntryPtr ReadEntry(ProfileRecord record, SharedSubjects* subjects);

// Returns a state of `history`, with each entry active or not according to its roll-backs.
CalibrationStatePtr MakeState(std::vector<HistoryEntryPtr> history, uint64_t generation,
                              std::chrono::steady_clock::time_point now);

// Returns the next state: `before` with `entries` added.
CalibrationStatePtr Extended(const CalibrationState& before, std::vector<HistoryEntryPtr> entries,
                             std::chrono::steady_clock::time_point now);

// Returns a source of the calibrations that `state` has for a job's model and GPU type. `state`
// must outlive the result.
CalibrationSource CalibrationsOf(const CalibrationState& state);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_CALIBRATION_STATE_H_
