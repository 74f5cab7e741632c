// Checks objects that may stall, by calling each of them periodically on a thread. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_SWEEPER_H_
#define EVENKEEL_SERVER_CORE_SWEEPER_H_

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "server/base/mutex.h"

namespace evenkeel::server {

class Swept {
 public:
  virtual ~Swept() = default;
  virtual void OnSweep() = 0;  // called on the sweeper's thread
};

class Sweeper {
 public:
  explicit Sweeper(std::chrono::milliseconds interval);
  ~Sweeper();  // waits for a sweep in progress

  // Sweeps the object until it is destroyed. The sweeper does not keep it alive, except during a
  // sweep.
  void Add(std::weak_ptr<Swept> swept);

 private:
  void Run();

  const std::chrono::milliseconds interval_;
  Mutex mutex_;
  CondVar wake_;
  std::vector<std::weak_ptr<Swept>> all_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_SWEEPER_H_
