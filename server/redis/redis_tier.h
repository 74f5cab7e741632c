// A Redis that replicas share, as a key-value tier of a cache. Its contents may disappear at any
// time, and it may be slow, hung or down without anybody waiting for it. Values are opaque bytes;
// readers must check them. Thread-safe.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_TIER_H_
#define EVENKEEL_SERVER_REDIS_REDIS_TIER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/base/mutex.h"
#include "server/core/clock.h"
#include "server/core/worker_pool.h"
#include "server/redis/circuit_breaker.h"
#include "server/redis/lookup_timer.h"
#include "server/redis/redis_client.h"

namespace evenkeel::server {

struct RedisTierSettings {
  RedisAddress address;
  std::chrono::microseconds budget{5000};  // budget of a look-up, including its wait in the queue
  size_t threads = 2;                      // each has a connection
  size_t queue_length = 256;               // waiting look-ups and writes
  size_t max_value_bytes = size_t{16} << 20;
  CircuitBreaker::Settings breaker;
  // Called with the reason when Redis is given up for a while, unless the last call had the same
  // reason, and with "" when Redis is used again. Must not block.
  std::function<void(const std::string& why)> on_fault;
};

// Each look-up counts as one of hits, misses, errors, timeouts and refused; each write as one of
// writes, write_errors and dropped_writes.
struct RedisTierCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t errors = 0;    // Redis failed
  uint64_t timeouts = 0;  // the budget was over
  uint64_t refused = 0;   // not tried, because the breaker is open or the queue is full
  uint64_t writes = 0;
  uint64_t write_errors = 0;
  uint64_t dropped_writes = 0;  // not tried, for the same reasons or because it was too large
  CircuitBreaker::State breaker = CircuitBreaker::State::kClosed;
};

class RedisTier {
 public:
  // `known` is true if Redis answered. Otherwise the value may or may not be there.
  using Found = std::function<void(std::optional<std::string> bytes, bool known)>;
  using Kept = std::function<void(bool kept)>;

  // `clock` must outlive the tier. Does not connect yet.
  RedisTier(const RedisTierSettings& settings, const Clock& clock, uint64_t seed);

  // Answers every pending look-up as not known.
  ~RedisTier();

  // Calls `found` once, soon after the budget at the latest, on a thread of the tier or on the
  // caller's before it returns. `found` must not block.
  void Find(std::string key, Found found);

  // Stores `bytes` for `ttl` (1 ms or more), some time later, if it can. Calls `kept` when that is
  // decided, on the threads that Find names, or drops it uncalled if the tier ends before.
  void Put(std::string key, std::string bytes, std::chrono::milliseconds ttl,
           const Kept& kept = {});

  RedisTierCounters counters() const;

 private:
  class Lookup;
  class Loan;

  void Get(const std::string& key, Lookup& lookup);
  bool Set(const std::string& key, const std::string& bytes, std::chrono::milliseconds ttl);
  RedisReply Do(const std::vector<std::string_view>& words);
  void RememberFault(const std::string& why);
  void OnBreaker(CircuitBreaker::State state);
  RedisClient::Deadline CommandDeadline() const;

  const RedisTierSettings settings_;
  const std::chrono::milliseconds connect_timeout_;
  CircuitBreaker breaker_;
  struct Counts {
    std::atomic<uint64_t> hits = 0, misses = 0, errors = 0, timeouts = 0, refused = 0;
    std::atomic<uint64_t> writes = 0, write_errors = 0, dropped_writes = 0;
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  Mutex clients_mutex_;
  std::vector<std::unique_ptr<RedisClient>> clients_
      ABSL_GUARDED_BY(clients_mutex_);  // connections that no thread uses
  Mutex fault_mutex_;
  std::string last_fault_ ABSL_GUARDED_BY(fault_mutex_);
  std::string told_fault_ ABSL_GUARDED_BY(fault_mutex_);  // the last argument of on_fault
  LookupTimer timer_;
  WorkerPool pool_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_TIER_H_
