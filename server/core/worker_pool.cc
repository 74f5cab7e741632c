#include "server/core/worker_pool.h"

#include <algorithm>
#include <utility>

namespace evenkeel::server {

WorkerPool::WorkerPool(size_t threads, size_t queue_length, const Clock& clock)
    : queue_length_(queue_length), threads_count_(threads), clock_(clock), idle_(threads) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() { Shutdown(); }

WorkerPool::Admission WorkerPool::Submit(Submission submission) {
  Admission admission;
  Queued displaced;  // declared before the lock, so that it is destroyed after it is released
  {
    const MutexLock lock(mutex_);
    if (stopping_) return admission;
    const TaskId id = next_id_++;
    // A task that an idle thread is about to take does not count as waiting.
    const FairQueue::Push push =
        queue_.Add({id, std::move(submission.client), submission.cost_seconds, clock_.Now()},
                   queue_length_ + idle_);
    if (!push.accepted) return admission;
    if (push.displaced) {
      const auto found = tasks_.find(*push.displaced);
      displaced = std::move(found->second);
      tasks_.erase(found);
      admission.displaced = std::move(displaced.owner);
    }
    tasks_.emplace(id, Queued{std::move(submission.task), std::move(submission.owner)});
    admission.id = id;
  }
  wake_.NotifyOne();
  return admission;
}

std::optional<WorkerPool::TaskId> WorkerPool::Submit(Task task) {
  return Submit(Submission{.task = std::move(task)}).id;
}

bool WorkerPool::Withdraw(TaskId id) {
  Queued gone;  // declared before the lock, so that it is destroyed after it is released
  const MutexLock lock(mutex_);
  if (!queue_.Remove(id)) return false;
  const auto found = tasks_.find(id);
  gone = std::move(found->second);
  tasks_.erase(found);
  return true;
}

void WorkerPool::Shutdown() {
  absl::flat_hash_map<TaskId, Queued> dropped;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    queue_ = FairQueue();
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

size_t WorkerPool::depth() const {
  const MutexLock lock(mutex_);
  const size_t startable =
      queue_.size(Lane::kShort) + std::min(queue_.size(Lane::kHeavy), HeavyAllowed());
  return queue_.size() - std::min(idle_, startable);
}

size_t WorkerPool::HeavyAllowed() const {
  const size_t most = threads_count_ == 1 ? 1 : threads_count_ - 1;
  return most - heavy_running_;
}

size_t WorkerPool::depth(Lane lane) const {
  const MutexLock lock(mutex_);
  return queue_.size(lane);
}

double WorkerPool::backlog_seconds() const {
  const MutexLock lock(mutex_);
  return queue_.cost_seconds() / static_cast<double>(threads_count_);
}

double WorkerPool::least_wait_seconds(const std::string& client, double cost_seconds) const {
  const MutexLock lock(mutex_);
  if (idle_ > 0) return 0;
  return queue_.CostBefore(client, LaneOf(cost_seconds)) / static_cast<double>(threads_count_);
}

size_t WorkerPool::busy() const {
  const MutexLock lock(mutex_);
  return threads_.size() - idle_;
}

void WorkerPool::Work() {
  MutexLock lock(mutex_);
  while (true) {
    std::optional<FairQueue::Entry> next;
    wake_.Wait(lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || (next = queue_.Next(clock_.Now(), HeavyAllowed() > 0)).has_value();
    });
    if (!next) return;
    const auto found = tasks_.find(next->id);
    Queued queued = std::move(found->second);
    tasks_.erase(found);
    const bool heavy = next->lane() == Lane::kHeavy;
    --idle_;
    heavy_running_ += heavy ? 1 : 0;
    lock.Unlock();
    queued.task({SecondsBetween(next->since, clock_.Now()), next->lane()});
    queued = {};
    lock.Lock();
    ++idle_;
    if (!heavy) continue;
    --heavy_running_;
    wake_.NotifyOne();  // a waiting thread may now be allowed to take heavy work
  }
}

}  // namespace evenkeel::server
