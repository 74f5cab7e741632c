// Which revisions of a history are in force.
#ifndef EVENKEEL_SERVER_CALIBRATION_PROFILE_HISTORY_H_
#define EVENKEEL_SERVER_CALIBRATION_PROFILE_HISTORY_H_

#include <cstdint>
#include <vector>

#include "server/base/profile_record.h"

namespace evenkeel::server {

// The action of a revision, without its content.
struct RevisionAction {
  ProfileAction action = ProfileAction::kRecord;
  int64_t target = 0;  // of a roll-back
};

// Returns which revisions are in force, by index. Later roll-backs apply first: a roll-back that
// has itself been undone has no effect. REQUIRES: revisions 1, 2, ... in order.
std::vector<bool> ActiveRevisions(const std::vector<RevisionAction>& history);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_PROFILE_HISTORY_H_
