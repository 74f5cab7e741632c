// Nanoseconds of the planner as seconds of the contract.
#ifndef EVENKEEL_SERVER_CONVERT_SECONDS_H_
#define EVENKEEL_SERVER_CONVERT_SECONDS_H_

#include <cstdint>

namespace evenkeel::server {

inline double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_SECONDS_H_
