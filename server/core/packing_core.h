// Packing work on a separate bounded pool, so that a long packing does not hold up plans. Free of
// gRPC. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_PACKING_CORE_H_
#define EVENKEEL_SERVER_CORE_PACKING_CORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "server/base/mutex.h"
#include "server/core/clock.h"
#include "server/core/plan_observer.h"
#include "server/core/work_terms.h"
#include "server/core/worker_pool.h"

namespace evenkeel::server {

enum class PackingEnd { kDone, kCancelled, kShuttingDown, kQueueFull, kExpired, kDefect };

class PackingCore {
  struct Task;

 public:
  using Stop = std::function<bool()>;
  // Polls `stop` regularly and returns early if it returns true. Throws only because of a defect.
  using Work = std::function<void(const Stop& stop)>;
  using OnEnd = std::function<void(PackingEnd end, const std::string& fault)>;
  using Ticket = std::shared_ptr<Task>;

  // `observer` and `clock` must outlive the core.
  PackingCore(size_t threads, size_t queue_length, PlanObserver& observer, const Clock& clock);
  ~PackingCore();  // stops everything; every `done` has been called when it returns

  // Calls `done` exactly once: on this thread if the work is refused, on the thread of Cancel or
  // StopAll, or on a worker's. `done` must not throw. `samples` is passed to the observer.
  Ticket Run(int64_t samples, Work work, OnEnd done, const WorkTerms& terms = {});

  // Ends the work with kCancelled on this thread, unless it has ended. Running work is stopped, but
  // keeps what it holds until it returns.
  void Cancel(const Ticket& ticket);

  // Tells callers to begin nothing new that leads to work. What has begun may still submit work.
  void RefuseNewWork() { refusing_ = true; }
  bool refusing() const { return refusing_; }

  // Stops all work and refuses new work, which ends with kShuttingDown.
  void StopAll();

 private:
  void End(const Ticket& task, PackingEnd end, const std::string& fault = {});
  void StopTask(const Ticket& task, PackingEnd end);
  void Perform(const Ticket& task);

  PlanObserver& observer_;
  const Clock& clock_;
  std::atomic<bool> refusing_ = false;
  Mutex mutex_;  // also guards the `done` of every task
  std::set<Ticket> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  WorkerPool pool_;  // last member, because its threads use all others
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_PACKING_CORE_H_
