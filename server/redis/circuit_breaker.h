// Protects a service that fails. After several failures in a row, nothing is tried for a while.
// Then one attempt at a time finds out whether the service has recovered. Thread-safe.
#ifndef EVENKEEL_SERVER_REDIS_CIRCUIT_BREAKER_H_
#define EVENKEEL_SERVER_REDIS_CIRCUIT_BREAKER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>

#include "server/base/mutex.h"
#include "server/core/clock.h"

namespace evenkeel::server {

class CircuitBreaker {
 public:
  enum class State { kClosed, kOpen, kHalfOpen };
  enum class Outcome { kSuccess, kFailure, kUnknown };  // kUnknown if it was never tried

  struct Settings {
    int failures = 3;  // failures in a row that open the breaker
    std::chrono::milliseconds first_pause{500};
    // limit on a pause; each pause is twice the previous one
    std::chrono::milliseconds longest_pause{30'000};
    double jitter = 0.2;  // a pause is drawn from 1 - jitter to 1 of its length
  };

  // Permission for an attempt. It is returned with the outcome.
  struct Permit {
    uint64_t epoch = 0;
  };

  // `clock` must outlive the breaker. `on_change` is called under its lock, after each change of
  // state.
  CircuitBreaker(const Settings& settings, const Clock& clock, uint64_t seed,
                 std::function<void(State)> on_change = {});

  // Returns nullopt if nothing may be tried. Every permit must be reported; otherwise no further
  // attempt is allowed in the half-open state.
  std::optional<Permit> Ask();

  // Reports an outcome. Permits from before the last change of state no longer count.
  void Report(Permit permit, Outcome outcome);

  State state() const;
  // Returns true if Ask would refuse because a pause is not over. Changes nothing.
  bool is_resting() const;

 private:
  void Become(State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::chrono::nanoseconds NextPause() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Settings settings_;
  const Clock& clock_;
  const std::function<void(State)> on_change_;
  mutable Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kClosed;
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;  // number of changes of state
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;    // in a row, while closed
  int pauses_ ABSL_GUARDED_BY(mutex_) = 0;      // number of pauses since it was closed
  bool probing_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point open_until_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_CIRCUIT_BREAKER_H_
