// Packing work on a bounded pool of its own, so that a long packing does not hold up plans. Free of
// gRPC. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_PACKING_CORE_H_
#define EVENKEEL_SERVER_CORE_PACKING_CORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

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
  // Asks `stop` now and then and returns early if it says so. May throw: a defect.
  using Work = std::function<void(const Stop& stop)>;
  using OnEnd = std::function<void(PackingEnd end, const std::string& fault)>;
  using Ticket = std::shared_ptr<Task>;

  // `observer` and `clock` outlive the core.
  PackingCore(size_t threads, size_t queue_length, PlanObserver& observer, const Clock& clock);
  ~PackingCore();  // stops everything; every `done` has been called afterwards

  // Calls `done` exactly once: on this thread if the work is refused, on the thread of Cancel or
  // StopAll, or on a worker's. `done` must not throw. `samples`: for the observer.
  Ticket Run(int64_t samples, Work work, OnEnd done, const WorkTerms& terms = {});

  // Ends it with kCancelled on this thread, unless it has ended. Work under way is stopped; what it
  // holds lives until it returns.
  void Cancel(const Ticket& ticket);

  // From now on nothing should begin that leads to work; what has begun may still have it done.
  void RefuseNewWork() { refusing_ = true; }
  bool refusing() const { return refusing_; }

  // Stops what there is, and refuses whatever comes: it ends with kShuttingDown.
  void StopAll();

 private:
  void End(const Ticket& task, PackingEnd end, const std::string& fault = {});
  void StopTask(const Ticket& task, PackingEnd end);
  void Perform(const Ticket& task);

  PlanObserver& observer_;
  const Clock& clock_;
  std::atomic<bool> refusing_ = false;
  std::mutex mutex_;  // guards what follows, and the `done` and `pool_task` of every task
  std::set<Ticket> tasks_;
  bool stopped_ = false;
  WorkerPool pool_;  // last: its threads use all of the above
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_PACKING_CORE_H_
