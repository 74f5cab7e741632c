// Ends look-ups whose time budget is over. One thread is enough, because all look-ups have the same
// budget and so end in the order in which they came. Thread-safe.
#ifndef EVENKEEL_SERVER_REDIS_LOOKUP_TIMER_H_
#define EVENKEEL_SERVER_REDIS_LOOKUP_TIMER_H_

#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "server/base/mutex.h"

namespace evenkeel::server {

class Timed {
 public:
  virtual ~Timed() = default;
  virtual void OnTimeout() = 0;  // called on the timer's thread
  virtual bool is_done() const = 0;
};

class LookupTimer {
 public:
  explicit LookupTimer(std::chrono::nanoseconds budget);
  ~LookupTimer();  // drops what is still waiting

  // Calls OnTimeout when the budget is over, unless `timed` is done by then.
  void Add(std::shared_ptr<Timed> timed);

 private:
  struct Entry {
    std::chrono::steady_clock::time_point due;
    std::shared_ptr<Timed> timed;
  };

  void Run();

  const std::chrono::nanoseconds budget_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_LOOKUP_TIMER_H_
