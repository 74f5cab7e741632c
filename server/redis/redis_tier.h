// A Redis that replicas share, as a key-value tier of a cache: what it holds may be gone at any
// time, and it may be slow, hung or down without anybody waiting for it. Values are opaque bytes;
// who reads them must check them. Thread-safe.
#ifndef EVENKEEL_SERVER_REDIS_REDIS_TIER_H_
#define EVENKEEL_SERVER_REDIS_REDIS_TIER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/core/clock.h"
#include "server/core/worker_pool.h"
#include "server/redis/circuit_breaker.h"
#include "server/redis/lookup_timer.h"
#include "server/redis/redis_client.h"

namespace evenkeel::server {

struct RedisTierSettings {
  RedisAddress address;
  std::chrono::microseconds budget{5000};  // of a look-up, its wait in the queue included
  size_t threads = 2;                      // each with a connection
  size_t queue_length = 256;               // look-ups and writes that may wait
  size_t max_value_bytes = size_t{16} << 20;
  CircuitBreaker::Settings breaker;
};

// Each look-up is one of hits, misses, errors, timeouts and refused; each write one of writes,
// write_errors and dropped_writes.
struct RedisTierCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t errors = 0;    // Redis failed
  uint64_t timeouts = 0;  // the budget was over
  uint64_t refused = 0;   // not tried: the breaker is open, or the queue is full
  uint64_t writes = 0;
  uint64_t write_errors = 0;
  uint64_t dropped_writes = 0;  // not tried, likewise, or too large
  CircuitBreaker::State breaker = CircuitBreaker::State::kClosed;
};

class RedisTier {
 public:
  // `known`: Redis said so. Else the value may be there, or not.
  using Found = std::function<void(std::optional<std::string> bytes, bool known)>;
  using Kept = std::function<void(bool kept)>;

  // `clock` outlives it. Does not connect yet.
  RedisTier(const RedisTierSettings& settings, const Clock& clock, uint64_t seed);

  // Answers every look-up that is still open: not known.
  ~RedisTier();

  // Calls `found` once, soon after the budget at the latest. On a thread of the tier, or on the
  // caller's before it returns; it must not block.
  void Find(std::string key, Found found);

  // Keeps `bytes` for `ttl` (1 ms or more), some time later, if it can. Calls `kept` when that is
  // decided, as Find does; drops it uncalled where the tier ends before.
  void Put(std::string key, std::string bytes, std::chrono::milliseconds ttl,
           const Kept& kept = {});

  RedisTierCounters counters() const;

 private:
  class Lookup;
  class Loan;

  void Get(const std::string& key, Lookup& lookup);
  bool Set(const std::string& key, const std::string& bytes, std::chrono::milliseconds ttl);
  RedisClient::Deadline CommandDeadline() const;

  const RedisTierSettings settings_;
  CircuitBreaker breaker_;
  struct Counts {
    std::atomic<uint64_t> hits = 0, misses = 0, errors = 0, timeouts = 0, refused = 0;
    std::atomic<uint64_t> writes = 0, write_errors = 0, dropped_writes = 0;
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  std::mutex clients_mutex_;
  std::vector<std::unique_ptr<RedisClient>> clients_;  // that no thread uses
  LookupTimer timer_;
  WorkerPool pool_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_REDIS_REDIS_TIER_H_
