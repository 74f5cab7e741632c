// How long a replica may vouch for its copy of a shared history.
//
// A copy is confirmed for kLease after the moment at which the store was asked and had nothing
// newer. Whoever appends a revision acknowledges it only kLease + kLeaseMargin later. By then every
// replica has either read the revision, or can no longer vouch for its copy and says so: an
// acknowledged revision is never followed by an answer that is older and does not say so. Clocks of
// different machines are never compared; the margin covers differences in their rates.
#ifndef EVENKEEL_SERVER_CALIBRATION_LEASE_H_
#define EVENKEEL_SERVER_CALIBRATION_LEASE_H_

#include <atomic>
#include <chrono>
#include <optional>

namespace evenkeel::server {

inline constexpr std::chrono::milliseconds kLease{300};
inline constexpr std::chrono::milliseconds kLeaseMargin{50};

// The lease of one copy. Thread-safe: time only moves forward.
class Lease {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `known` is the time when it became known that the copy is not, or no longer, confirmed.
  explicit Lease(Time known) : asked_at_(known - kLease) {}

  // Renews the lease: the store was asked at `asked_at`, and had nothing newer.
  void Renew(Time asked_at) const {
    Time before = asked_at_;
    while (before < asked_at && !asked_at_.compare_exchange_weak(before, asked_at)) {
    }
  }

  // Confirms the copy for ever, because no other process can append.
  void Own() const { asked_at_ = Time::max() - kLease; }

  // Returns nullopt if the copy is confirmed, otherwise the seconds for which it has not been.
  std::optional<double> UnconfirmedSeconds(Time now) const {
    const Time end = asked_at_.load() + kLease;
    if (now < end) return std::nullopt;
    return std::chrono::duration<double>(now - end).count();
  }

 private:
  mutable std::atomic<Time> asked_at_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_LEASE_H_
