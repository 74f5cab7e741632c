// A thread that does something again and again.
#ifndef EVENKEEL_SERVER_CALIBRATION_TICKER_H_
#define EVENKEEL_SERVER_CALIBRATION_TICKER_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace evenkeel::server {

class Ticker {
 public:
  // From begin to begin, where `tick` is quicker than that.
  Ticker(std::chrono::milliseconds interval, std::function<void()> tick);
  ~Ticker();  // waits for a tick under way
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void Run();

  const std::chrono::milliseconds interval_;
  const std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_TICKER_H_
