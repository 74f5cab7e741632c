// A fixed number of threads behind a bounded fair queue. If the queue is full, it refuses work
// instead of waiting. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_WORKER_POOL_H_
#define EVENKEEL_SERVER_CORE_WORKER_POOL_H_

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/base/mutex.h"
#include "server/core/clock.h"
#include "server/core/fair_queue.h"

namespace evenkeel::server {

// How long a task waited, and in which lane.
struct QueueWait {
  double seconds = 0;
  Lane lane = Lane::kShort;
};

class WorkerPool {
 public:
  // A task. It must not throw.
  using Task = std::function<void(const QueueWait& waited)>;
  using TaskId = FairQueue::Id;

  // A task, its client and its estimated cost.
  struct Submission {
    Task task;
    std::string client = {};
    double cost_seconds = 0;
    std::shared_ptr<void> owner = nullptr;  // returned if the task is displaced by another
  };
  struct Admission {
    std::optional<TaskId> id;         // nullopt if refused
    std::shared_ptr<void> displaced;  // owner of the displaced task, which will never run
  };

  // `threads` and `queue_length` are 1 or more. `clock` must outlive the pool. If there are several
  // threads, at least one stays free of heavy tasks.
  WorkerPool(size_t threads, size_t queue_length, const Clock& clock);

  // Drops queued tasks and waits for running ones.
  ~WorkerPool();

  // Submits a task. Refuses it if `queue_length` tasks are already waiting and the client has its
  // share of them, or if the pool is shut down.
  Admission Submit(Submission submission);

  // Submits a short task that belongs to no particular client. Returns nullopt if it is refused.
  std::optional<TaskId> Submit(Task task);

  // Takes a waiting task out of the queue. Returns false if it has started or ended.
  bool Withdraw(TaskId id);

  // Accepts no more tasks, drops waiting ones and returns when none is running. Call at most once.
  void Shutdown();

  size_t depth() const;  // returns the number of waiting tasks
  // Returns the waiting tasks of a lane. The number is slightly too high while threads are about to
  // take some.
  size_t depth(Lane lane) const;
  size_t busy() const;  // returns the number of threads that run a task
  size_t threads() const { return threads_.size(); }

  // Returns the estimated seconds of all waiting tasks, divided by the number of threads.
  double backlog_seconds() const;
  // Returns the least wait of a newcomer of this client. See FairQueue::CostBefore.
  double least_wait_seconds(const std::string& client, double cost_seconds) const;

 private:
  struct Queued {
    Task task;
    std::shared_ptr<void> owner;
  };

  void Work();
  // Returns the number of heavy tasks that may begin now.
  size_t HeavyAllowed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t queue_length_;
  const size_t threads_count_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  FairQueue queue_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<TaskId, Queued> tasks_ ABSL_GUARDED_BY(mutex_);  // tasks in the queue
  TaskId next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  size_t idle_ ABSL_GUARDED_BY(mutex_);  // number of threads that do not run a task
  size_t heavy_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_WORKER_POOL_H_
