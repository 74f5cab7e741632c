// A fixed number of threads with a bounded fair queue before them. Refuses instead of waiting.
// Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_WORKER_POOL_H_
#define EVENKEEL_SERVER_CORE_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

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
  // Must not throw.
  using Task = std::function<void(const QueueWait& waited)>;
  using TaskId = FairQueue::Id;

  // A task, whose it is and what it is expected to take.
  struct Submission {
    Task task;
    std::string client = {};
    double cost_seconds = 0;
    std::shared_ptr<void> owner = nullptr;  // given back if it has to give way to another's
  };
  struct Admission {
    std::optional<TaskId> id;         // nullopt: refused
    std::shared_ptr<void> displaced;  // owner of the task that gave way; it will never run
  };

  // `threads` and `queue_length` are 1 or more. `clock` outlives the pool. Where there are several
  // threads, one at least is kept free of heavy tasks.
  WorkerPool(size_t threads, size_t queue_length, const Clock& clock);

  // Drops what is queued and waits for what runs.
  ~WorkerPool();

  // Refused: `queue_length` tasks are waiting already and the client has its share of them, or the
  // pool is shut down.
  Admission Submit(Submission submission);

  // Of nobody in particular, and short. nullopt: refused.
  std::optional<TaskId> Submit(Task task);

  // Takes a waiting task out of the queue. False: it has started, or ended.
  bool Withdraw(TaskId id);

  // Accepts no more tasks, drops those that wait and returns when none runs. Called once.
  void Shutdown();

  size_t depth() const;           // tasks that wait
  size_t depth(Lane lane) const;  // likewise, a little more where threads are about to take some
  size_t busy() const;            // threads that are in a task
  size_t threads() const { return threads_.size(); }

  // Estimated seconds of all that waits, over the threads.
  double backlog_seconds() const;
  // At the least, for a newcomer of this client: see FairQueue::CostBefore.
  double least_wait_seconds(const std::string& client, double cost_seconds) const;

 private:
  struct Queued {
    Task task;
    std::shared_ptr<void> owner;
  };

  void Work();
  size_t HeavyAllowed() const;  // tasks that may begin now

  const size_t queue_length_;
  const size_t threads_count_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  FairQueue queue_;
  std::unordered_map<TaskId, Queued> tasks_;  // of the queue
  TaskId next_id_ = 1;
  size_t idle_;  // threads that are not in a task
  size_t heavy_running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_WORKER_POOL_H_
