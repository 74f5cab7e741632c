#include "server/core/sweeper.h"

#include <utility>

namespace evenkeel::server {

Sweeper::Sweeper(std::chrono::milliseconds interval)
    : interval_(interval), thread_([this] { Run(); }) {}

Sweeper::~Sweeper() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void Sweeper::Add(std::weak_ptr<Swept> swept) {
  {
    const MutexLock lock(mutex_);
    all_.push_back(std::move(swept));
  }
  wake_.NotifyAll();
}

void Sweeper::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    wake_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || !all_.empty();
    });
    wake_.WaitFor(lock, interval_,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
    if (stopping_) return;
    std::erase_if(all_, [](const auto& swept) { return swept.expired(); });
    const std::vector<std::weak_ptr<Swept>> now = all_;
    lock.Unlock();
    for (const auto& swept : now) {
      if (const auto held = swept.lock()) held->OnSweep();
    }
    lock.Lock();
  }
}

}  // namespace evenkeel::server
