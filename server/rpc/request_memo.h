// Remembers which plan the bytes of a request lead to, so that the very same request needs no
// parsing. The bytes themselves are compared, not only a digest of them. Thread-safe.
#ifndef EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_
#define EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/byte_lru.h"

namespace evenkeel::server {

class RequestMemo {
 public:
  struct Entry {
    std::string plan_id;
    std::string label;
  };

  // `seed` is secret, so that nobody can send requests that collide on purpose.
  RequestMemo(size_t capacity_bytes, uint64_t seed);

  // `generation`: of the calibration in force, never lower than before on one thread. The same
  // bytes lead to another plan under another calibration: what was remembered under an older one is
  // forgotten.
  std::optional<Entry> Find(std::string_view request_bytes, uint64_t generation);

  // Under which calibration the request was planned. A request larger than the whole memo is not
  // remembered.
  void Remember(std::string_view request_bytes, Entry entry, uint64_t generation);

 private:
  struct SeededHash {
    uint64_t seed;
    size_t operator()(std::string_view bytes) const;
  };

  bool IsCurrent(uint64_t generation);

  std::mutex mutex_;
  uint64_t generation_ = 0;  // of all that is remembered
  ByteLru<Entry, SeededHash> lru_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_
