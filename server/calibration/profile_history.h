// Which revisions of a history are in force.
#ifndef EVENKEEL_SERVER_CALIBRATION_PROFILE_HISTORY_H_
#define EVENKEEL_SERVER_CALIBRATION_PROFILE_HISTORY_H_

#include <vector>

#include "server/calibration/profile_store.h"

namespace evenkeel::server {

// Returns which revisions are in force, by index. Later roll-backs apply first: a roll-back that
// has itself been undone has no effect. REQUIRES: revisions 1, 2, ... in order.
std::vector<bool> ActiveRevisions(const std::vector<ProfileRecord>& history);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_PROFILE_HISTORY_H_
