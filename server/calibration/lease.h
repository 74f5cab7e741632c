// For how long a replica may vouch for its copy of a shared history.
//
// A copy is confirmed for kLease after the moment at which the store was asked and had nothing
// newer. Who has appended a revision acknowledges it only kLease + kLeaseMargin later. So by then
// every replica has either read it, or can not vouch for its copy any more and says so: what is
// acknowledged is never followed by an answer that is older and silent about it. Clocks of
// different machines are never compared; the margin covers how differently they run.
#ifndef EVENKEEL_SERVER_CALIBRATION_LEASE_H_
#define EVENKEEL_SERVER_CALIBRATION_LEASE_H_

#include <atomic>
#include <chrono>
#include <optional>

namespace evenkeel::server {

inline constexpr std::chrono::milliseconds kLease{300};
inline constexpr std::chrono::milliseconds kLeaseMargin{50};
inline constexpr std::chrono::milliseconds kPollInterval{100};

// Of one copy. Thread-safe: time only moves forward.
class Lease {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `known`: when it became known that the copy is not, or no longer, confirmed.
  explicit Lease(Time known) : asked_(known - kLease) {}

  // The store was asked at `asked`, and had nothing newer.
  void Renew(Time asked) const {
    Time before = asked_;
    while (before < asked && !asked_.compare_exchange_weak(before, asked)) {
    }
  }

  // No other process can append: confirmed for ever.
  void Own() const { asked_ = Time::max() - kLease; }

  // nullopt: confirmed. Else for how long it has not been, in seconds.
  std::optional<double> UnconfirmedSeconds(Time now) const {
    const Time end = asked_.load() + kLease;
    if (now < end) return std::nullopt;
    return std::chrono::duration<double>(now - end).count();
  }

 private:
  mutable std::atomic<Time> asked_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_LEASE_H_
