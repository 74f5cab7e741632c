#include "server/calibration/ticker.h"

#include <utility>

namespace evenkeel::server {

Ticker::Ticker(std::chrono::milliseconds interval, std::function<void()> tick)
    : interval_(interval), tick_(std::move(tick)), thread_([this] { Run(); }) {}

Ticker::~Ticker() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void Ticker::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const auto next = std::chrono::steady_clock::now() + interval_;
    lock.Unlock();
    tick_();
    lock.Lock();
    wake_.WaitUntil(lock, next,
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
  }
}

}  // namespace evenkeel::server
