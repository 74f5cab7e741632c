// One revision of the history of profiles, as stores keep it.
#ifndef EVENKEEL_SERVER_BASE_PROFILE_RECORD_H_
#define EVENKEEL_SERVER_BASE_PROFILE_RECORD_H_

#include <cstdint>
#include <string>

namespace evenkeel::server {

enum class ProfileAction {
  kRecord = 1,      // `profile` was recorded
  kRollBackTo = 2,  // back to the state after `target`
  kRemove = 3,      // `target` was taken out
};

struct ProfileRecord {
  int64_t revision = 0;  // from 1, without gaps; assigned by the store
  int64_t unix_ns = 0;   // time since the epoch
  ProfileAction action = ProfileAction::kRecord;
  int64_t target = 0;   // target of a roll-back
  std::string author;   // empty if unknown
  std::string profile;  // a serialised v1::Profile; empty for roll-backs
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_BASE_PROFILE_RECORD_H_
