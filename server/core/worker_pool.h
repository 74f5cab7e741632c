// A fixed number of threads with a bounded queue before them. Refuses instead of waiting.
// Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_WORKER_POOL_H_
#define EVENKEEL_SERVER_CORE_WORKER_POOL_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/core/clock.h"

namespace evenkeel::server {

class WorkerPool {
 public:
  // Gets the seconds that it waited in the queue. Must not throw.
  using Task = std::function<void(double waited_seconds)>;
  using TaskId = uint64_t;

  // `threads` and `queue_length` are 1 or more. `clock` outlives the pool.
  WorkerPool(size_t threads, size_t queue_length, const Clock& clock);

  // Drops what is queued and waits for what runs.
  ~WorkerPool();

  // nullopt: `queue_length` tasks are waiting already, or the pool is shut down.
  std::optional<TaskId> Submit(Task task);

  // Takes a waiting task out of the queue. False: it has started, or ended.
  bool Withdraw(TaskId id);

  // Accepts no more tasks, drops those that wait and returns when none runs. Called once.
  void Shutdown();

  size_t depth() const;  // tasks that wait
  size_t busy() const;   // threads that are in a task
  size_t threads() const { return threads_.size(); }

 private:
  struct Queued {
    TaskId id;
    Task task;
    std::chrono::steady_clock::time_point since;
  };

  void Work();

  const size_t queue_length_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Queued> queue_;
  TaskId next_id_ = 1;
  size_t idle_;  // threads that are not in a task
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_WORKER_POOL_H_
