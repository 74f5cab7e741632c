#include "server/redis/circuit_breaker.h"

#include <algorithm>
#include <utility>

namespace evenkeel::server {

CircuitBreaker::CircuitBreaker(const Settings& settings, const Clock& clock, uint64_t seed,
                               std::function<void(State)> on_change)
    : settings_(settings), clock_(clock), on_change_(std::move(on_change)), random_(seed) {}

std::optional<CircuitBreaker::Permit> CircuitBreaker::Ask() {
  const MutexLock lock(mutex_);
  if (state_ == State::kOpen && clock_.Now() >= open_until_) Become(State::kHalfOpen);
  if (state_ == State::kOpen || (state_ == State::kHalfOpen && probing_)) return std::nullopt;
  probing_ = state_ == State::kHalfOpen;
  return Permit{epoch_};
}

void CircuitBreaker::Report(Permit permit, Outcome outcome) {
  const MutexLock lock(mutex_);
  if (permit.epoch != epoch_) return;
  probing_ = false;
  if (outcome == Outcome::kUnknown) return;
  if (outcome == Outcome::kSuccess) {
    failures_ = 0;
    pauses_ = 0;
    if (state_ != State::kClosed) Become(State::kClosed);
    return;
  }
  if (state_ == State::kClosed && ++failures_ < settings_.failures) return;
  failures_ = 0;
  open_until_ = clock_.Now() + NextPause();
  Become(State::kOpen);
}

CircuitBreaker::State CircuitBreaker::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

bool CircuitBreaker::is_resting() const {
  const MutexLock lock(mutex_);
  return state_ == State::kOpen && clock_.Now() < open_until_;
}

void CircuitBreaker::Become(State state) {
  state_ = state;
  ++epoch_;
  probing_ = false;
  if (on_change_) on_change_(state);
}

std::chrono::nanoseconds CircuitBreaker::NextPause() {
  std::chrono::nanoseconds pause = settings_.first_pause;
  const std::chrono::nanoseconds longest = settings_.longest_pause;
  for (int i = 0; i < pauses_ && pause < longest; ++i) pause *= 2;
  ++pauses_;
  pause = std::min(pause, longest);
  // The result is the same on every platform, unlike that of std::uniform_real_distribution.
  const double share = static_cast<double>(random_() >> 11) / static_cast<double>(1ULL << 53);
  return std::chrono::nanoseconds(
      static_cast<int64_t>(static_cast<double>(pause.count()) * (1 - settings_.jitter * share)));
}

}  // namespace evenkeel::server
