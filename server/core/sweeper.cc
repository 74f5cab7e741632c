#include "server/core/sweeper.h"

#include <utility>

namespace evenkeel::server {

Sweeper::Sweeper(std::chrono::milliseconds interval)
    : interval_(interval), thread_([this] { Run(); }) {}

Sweeper::~Sweeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Sweeper::Add(std::weak_ptr<Swept> swept) {
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(swept));
  }
  wake_.notify_all();
}

void Sweeper::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait(lock, [this] { return stopping_ || !all_.empty(); });
    wake_.wait_for(lock, interval_, [this] { return stopping_; });
    if (stopping_) return;
    std::erase_if(all_, [](const auto& swept) { return swept.expired(); });
    const std::vector<std::weak_ptr<Swept>> now = all_;
    lock.unlock();
    for (const auto& swept : now) {
      if (const auto held = swept.lock()) held->OnSweep();
    }
    lock.lock();
  }
}

}  // namespace evenkeel::server
