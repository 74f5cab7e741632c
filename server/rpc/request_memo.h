// Remembers which plan the bytes of a request lead to, so that an identical request needs no
// parsing. The bytes themselves are compared, not only a digest of them. Thread-safe.
#ifndef EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_
#define EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/base/mutex.h"
#include "server/core/byte_lru.h"

namespace evenkeel::server {

class RequestMemo {
 public:
  struct Entry {
    std::string plan_id;
    std::string label;
  };

  // The tenant of a request and its calibration, because the same bytes lead to another plan under
  // another calibration.
  struct Context {
    std::string_view tenant;
    uint64_t generation = 0;
  };

  // `seed` is secret, so that nobody can send requests that collide on purpose.
  RequestMemo(size_t capacity_bytes, uint64_t seed);

  std::optional<Entry> Find(std::string_view request_bytes, const Context& context);

  // Replaces what was remembered for these bytes under another calibration. A request larger than
  // the whole memo is not remembered.
  void Remember(std::string_view request_bytes, Entry entry, const Context& context);

 private:
  struct SeededHash {
    uint64_t seed;
    size_t operator()(std::string_view bytes) const;
  };
  struct Slot {
    Entry entry;
    uint64_t generation;
  };

  Mutex mutex_;
  ByteLru<Slot, SeededHash> lru_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_
