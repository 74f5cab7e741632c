// The calibration of one call.
#ifndef EVENKEEL_SERVER_RPC_USED_CALIBRATION_H_
#define EVENKEEL_SERVER_RPC_USED_CALIBRATION_H_

#include <cstdint>

#include "server/convert/profile/profile_to_proto.h"

namespace evenkeel::server {

// One calibration is used for the whole call, even if profiles are recorded meanwhile.
struct UsedCalibration {
  uint64_t generation = 0;  // as in MemoContext
  CalibrationFacts facts;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_USED_CALIBRATION_H_
