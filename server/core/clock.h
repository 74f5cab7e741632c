// Time as a dependency, so that tests can control it.
#ifndef EVENKEEL_SERVER_CORE_CLOCK_H_
#define EVENKEEL_SERVER_CORE_CLOCK_H_

#include <chrono>

namespace evenkeel::server {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point Now() const {
    return std::chrono::steady_clock::now();
  }
  virtual std::chrono::system_clock::time_point WallNow() const {
    return std::chrono::system_clock::now();
  }
};

inline double SecondsBetween(std::chrono::steady_clock::time_point from,
                             std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_CLOCK_H_
