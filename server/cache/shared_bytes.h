// A key-value store that replicas share, as the caches see it.
#ifndef EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_
#define EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_

#include <functional>
#include <optional>
#include <string>

namespace evenkeel::server {

// Thread-safe. A store that is down, slow or hung finds nothing, and reports that within
// milliseconds.
class SharedBytes {
 public:
  // `known` is true if the store answered. Otherwise the value may or may not be there.
  using OnBytes = std::function<void(std::optional<std::string> bytes, bool known)>;
  using OnKept = std::function<void(bool kept)>;
  virtual ~SharedBytes() = default;
  // Calls `done` once, on this thread or another.
  virtual void Find(const std::string& key, OnBytes done) = 0;
  // Stores the value later, or not at all. Never waits. Calls `done` once that is decided, or drops
  // it.
  virtual void Put(const std::string& key, std::string bytes, OnKept done = {}) = 0;
  // Returns true if the store is in use at present.
  virtual bool ok() const { return true; }
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_
