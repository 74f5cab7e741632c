// A thread that calls a function periodically.
#ifndef EVENKEEL_SERVER_CALIBRATION_TICKER_H_
#define EVENKEEL_SERVER_CALIBRATION_TICKER_H_

#include <chrono>
#include <functional>
#include <thread>

#include "server/base/mutex.h"

namespace evenkeel::server {

class Ticker {
 public:
  // `interval` is the time between the starts of two ticks; a slower tick delays the next one.
  Ticker(std::chrono::milliseconds interval, std::function<void()> tick);
  ~Ticker();  // waits for a tick in progress
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void Run();

  const std::chrono::milliseconds interval_;
  const std::function<void()> tick_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_TICKER_H_
