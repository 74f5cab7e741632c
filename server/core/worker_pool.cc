#include "server/core/worker_pool.h"

#include <algorithm>
#include <utility>

namespace evenkeel::server {

WorkerPool::WorkerPool(size_t threads, size_t queue_length, const Clock& clock)
    : queue_length_(queue_length), clock_(clock), idle_(threads) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() { Shutdown(); }

std::optional<WorkerPool::TaskId> WorkerPool::Submit(Task task) {
  TaskId id = 0;
  {
    const std::lock_guard lock(mutex_);
    // A task that an idle thread is about to take does not count as waiting.
    if (stopping_ || queue_.size() >= queue_length_ + idle_) return std::nullopt;
    id = next_id_++;
    queue_.push_back(Queued{id, std::move(task), clock_.Now()});
  }
  wake_.notify_one();
  return id;
}

bool WorkerPool::Withdraw(TaskId id) {
  std::list<Queued> gone;  // declared before the lock: destroyed after it is released
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(queue_.begin(), queue_.end(), [id](const Queued& q) { return q.id == id; });
  if (found == queue_.end()) return false;
  gone.splice(gone.begin(), queue_, found);
  return true;
}

void WorkerPool::Shutdown() {
  std::list<Queued> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

size_t WorkerPool::depth() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() > idle_ ? queue_.size() - idle_ : 0;
}

size_t WorkerPool::busy() const {
  const std::lock_guard lock(mutex_);
  return threads_.size() - idle_;
}

void WorkerPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    --idle_;
    lock.unlock();
    next.task(SecondsBetween(next.since, clock_.Now()));
    next.task = nullptr;
    lock.lock();
    ++idle_;
  }
}

}  // namespace evenkeel::server
