#include "server/core/packing_core.h"

#include <exception>
#include <utility>
#include <vector>

namespace evenkeel::server {

struct PackingCore::Task {
  int64_t samples = 0;
  Work work;
  OnEnd done;                        // empty once it was called
  WorkerPool::TaskId pool_task = 0;  // written before anyone has the ticket
  std::chrono::steady_clock::time_point deadline;
  std::atomic<bool> stop = false;
};

PackingCore::PackingCore(size_t threads, size_t queue_length, PlanObserver& observer,
                         const Clock& clock)
    : observer_(observer), clock_(clock), pool_(threads, queue_length, clock) {}

PackingCore::~PackingCore() {
  StopAll();
  pool_.Shutdown();
}

PackingCore::Ticket PackingCore::Run(int64_t samples, Work work, OnEnd done,
                                     const WorkTerms& terms) {
  auto task = std::make_shared<Task>();
  task->deadline = terms.deadline;
  task->samples = samples;
  task->work = std::move(work);
  task->done = std::move(done);
  Ticket refused = task;
  PackingEnd refusal = PackingEnd::kShuttingDown;
  {
    const MutexLock lock(mutex_);
    if (!stopped_) {
      const auto admission =
          pool_.Submit({.task = [this, task](const QueueWait&) { Perform(task); },
                        .client = terms.client,
                        .cost_seconds = terms.cost_seconds,
                        .owner = task});
      refusal = PackingEnd::kQueueFull;
      if (admission.id) {
        task->pool_task = *admission.id;
        tasks_.insert(task);
        refused = std::static_pointer_cast<Task>(admission.displaced);  // usually none
      }
    }
  }
  if (refused != nullptr) {
    refused->work = nullptr;  // releases what it holds
    End(refused, refusal);
  }
  return task;
}

void PackingCore::Cancel(const Ticket& ticket) {
  if (ticket != nullptr) StopTask(ticket, PackingEnd::kCancelled);
}

void PackingCore::StopAll() {
  std::vector<Ticket> all;
  {
    const MutexLock lock(mutex_);
    refusing_ = true;
    stopped_ = true;
    all.assign(tasks_.begin(), tasks_.end());
  }
  // All are marked first, so that a worker that one of them frees does not begin the next.
  for (const Ticket& task : all) task->stop = true;
  for (const Ticket& task : all) StopTask(task, PackingEnd::kShuttingDown);
}

void PackingCore::StopTask(const Ticket& task, PackingEnd end) {
  task->stop = true;
  if (pool_.Withdraw(task->pool_task)) task->work = nullptr;  // releases what it holds
  End(task, end);
}

void PackingCore::End(const Ticket& task, PackingEnd end, const std::string& fault) {
  OnEnd done;
  {
    const MutexLock lock(mutex_);
    tasks_.erase(task);
    done.swap(task->done);
  }
  if (done) done(end, fault);
}

void PackingCore::Perform(const Ticket& task) {
  if (task->stop) {  // set by a thread that calls End
    task->work = nullptr;
    return;
  }
  const auto since = clock_.Now();
  if (since >= task->deadline) {
    task->work = nullptr;
    observer_.OnShed(ShedReason::kExpired);
    return End(task, PackingEnd::kExpired);
  }
  PackingEnd end = PackingEnd::kDone;
  std::string fault;
  try {
    task->work([&task] { return task->stop.load(std::memory_order_relaxed); });
  } catch (const std::exception& error) {
    end = PackingEnd::kDefect;
    fault = std::string("exception: ") + error.what();
  } catch (...) {
    end = PackingEnd::kDefect;
    fault = "exception of unknown type";
  }
  task->work = nullptr;
  const PackEnding ending = task->stop                   ? PackEnding::kStopped
                            : end == PackingEnd::kDefect ? PackEnding::kDefect
                                                         : PackEnding::kPacked;
  observer_.OnPacked(ending, task->samples, SecondsBetween(since, clock_.Now()));
  // Otherwise the thread that stopped it calls End.
  if (ending != PackEnding::kStopped) End(task, end, fault);
}

}  // namespace evenkeel::server
