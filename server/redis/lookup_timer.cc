#include "server/redis/lookup_timer.h"

#include <utility>

namespace evenkeel::server {

LookupTimer::LookupTimer(std::chrono::nanoseconds budget)
    : budget_(budget), thread_([this] { Run(); }) {}

LookupTimer::~LookupTimer() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void LookupTimer::Add(std::shared_ptr<Timed> timed) {
  bool was_empty = false;
  {
    const MutexLock lock(mutex_);
    was_empty = entries_.empty();
    entries_.push_back({std::chrono::steady_clock::now() + budget_, std::move(timed)});
  }
  if (was_empty) wake_.NotifyAll();
}

void LookupTimer::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (entries_.empty()) {
      wake_.Wait(lock);
      continue;
    }
    // A look-up that is done needs no wait.
    if (!entries_.front().timed->is_done() &&
        std::chrono::steady_clock::now() < entries_.front().due) {
      wake_.WaitUntil(lock, entries_.front().due);
      continue;
    }
    const std::shared_ptr<Timed> due = std::move(entries_.front().timed);
    entries_.pop_front();
    lock.Unlock();
    due->OnTimeout();  // does nothing if it is done
    lock.Lock();
  }
}

}  // namespace evenkeel::server
