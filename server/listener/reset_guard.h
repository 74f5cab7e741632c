// Cuts off connections that open calls and reset them at once, thousands per second ("rapid reset",
// CVE-2023-44487). gRPC 1.51 processes them all, and nobody else is answered meanwhile.
#ifndef EVENKEEL_SERVER_LISTENER_RESET_GUARD_H_
#define EVENKEEL_SERVER_LISTENER_RESET_GUARD_H_

#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "server/base/mutex.h"
#include "server/listener/connection_table.h"

namespace evenkeel::server {

// Thread-safe. Recognises such a connection by the bytes sent on it: an answer takes some, and a
// call that was reset takes none. Checks only a sample of calls, so that the others cost nothing.
class ResetGuard {
 public:
  // `table` must outlive the guard.
  explicit ResetGuard(ConnectionTable& table) : table_(table) {}

  // Returns an observer for a ServerBuilder; the guard must outlive the server. It intercepts
  // nothing and is only notified of calls.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeObserver();

  // Notes that a call began on the connection of this peer, in gRPC's spelling. Called for one call
  // in kSample.
  void OnSampledCall(const std::string& peer);

  bool IsSampled() { return calls_.fetch_add(1, std::memory_order_relaxed) % kSample == 0; }

  // Returns the number of connections that were cut off.
  uint64_t cut() const { return cut_; }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr uint64_t kSample = 64;

  // Facts about one connection, kept for a short while.
  struct Window {
    Clock::time_point since;
    uint64_t calls = 0;
    uint64_t bytes_sent_before = 0;
  };

  ConnectionTable& table_;
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<uint64_t> cut_ = 0;
  Mutex mutex_;
  std::map<std::string, Window> windows_ ABSL_GUARDED_BY(mutex_);  // by peer
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_RESET_GUARD_H_
